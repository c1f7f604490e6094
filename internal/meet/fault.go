package meet

import (
	"context"
	"errors"
	"sync"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet/internal/contact"
)

// A rank that cannot take part tells the others why, so that they do not wait for it. If it is
// connected with the rank above it, it sends a report. Otherwise it says so in its hello. A rank
// that hears of a fault fails, and passes it on in the same way.

var errUntold = errors.New("nobody has heard why this rank cannot take part")

// tell says at the rank above this one, or at rank 0 if only rank 0's door is known, that this rank
// cannot take part because of err. It tries until ctx ends, but not for longer than faultTime.
func (n *node) tell(ctx context.Context, err error) {
	if n.cfg.Release != nil {
		n.cfg.Release()
	}
	ctx, cancel := clock.WithTimeoutCause(ctx, n.cfg.Clock, faultTime, errUntold)
	defer cancel()
	j := &joiner{n: n, ctx: ctx}
	for pause := contact.FirstPause; ; pause = min(2*pause, contact.LastPause) {
		failed := j.tellOnce(err)
		if failed == nil || contact.IsFinal(failed) || clock.Sleep(ctx, n.cfg.Clock, pause) != nil {
			return
		}
	}
}

// tellOnce connects, says the fault and hangs up.
func (j *joiner) tellOnce(fault error) error {
	cfg, to, at := j.n.cfg, 0, j.n.cfg.Coordinator
	if cfg.Doors != nil {
		to = parentOf(cfg.Rank)
		at = cfg.Doors(to)
	}
	conn, err := j.reach(to, at)
	if err != nil {
		return err
	}
	defer conn.Close()
	h := hello{rank: cfg.Rank, size: cfg.Size, job: cfg.Job, transport: cfg.Transport, fault: fault.Error()}
	l := newLink(conn)
	l.finish(appendHello(nil, &h), contact.FarewellTime)
	l.write()
	_, err = contact.ReadStatus(conn) // the answer says that it has been heard
	return err
}

// latecomers are the ranks that have not heard yet why a meeting has failed.
type latecomers struct {
	mu      sync.Mutex
	missing map[int]bool // nil: the meeting has not failed by a fault
	heard   map[int]bool
	over    func()      // called when none is missing
	until   clock.Timer // ends the wait for missing ranks; nil before over is set
}

// nobody is no rank.
const nobody = -1

// told records that a rank has heard the reason, or does so at another rank. Ranks that come one
// after the other are waited for, so a rank that comes for the first time prolongs the wait.
func (l *latecomers) told(rank int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heard == nil {
		l.heard = make(map[int]bool)
	}
	if !l.heard[rank] && l.until != nil {
		l.until.Reset(faultTime)
	}
	l.heard[rank] = true
	l.check()
}

func (l *latecomers) check() {
	for rank := range l.heard {
		delete(l.missing, rank)
	}
	if l.over != nil && len(l.missing) == 0 {
		l.over()
	}
}

// graceOver returns what is done when the time for telling late ranks the reason err is over. A
// fault is told to all ranks that come to this one, until none has come for faultTime. The verdict
// of another rank may tell of a fault.
func (n *node) graceOver(err error) func() {
	if !isFault(err) && !errors.As(err, new(*verdict)) {
		return n.endHellos
	}
	l := &n.late
	l.mu.Lock()
	l.missing = make(map[int]bool)
	first, end := childrenOf(n.cfg.Rank, n.cfg.Size)
	if n.cfg.Rank == 0 && n.cfg.Doors == nil {
		first, end = 1, n.cfg.Size
	}
	for rank := first; rank < end; rank++ {
		l.missing[rank] = true
	}
	if n.cfg.Size == 0 {
		l.missing[nobody] = true // it does not know whom to wait for
	}
	l.mu.Unlock()
	return func() {
		until := n.cfg.Clock.AfterFunc(faultTime-graceTime, n.endHellos)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.over, l.until = n.endHellos, until
		l.check()
	}
}
