package meet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet/internal/contact"
)

// A rank that cannot take part tells the others why, so that they do not wait for it. If it is
// connected with rank 0, it sends a report. Otherwise it says so in its hello. Rank 0 tells the
// others.

// faultTime is how long a rank tries to tell the others why it, or another one, cannot take part.
const faultTime = 2 * time.Second

var errUntold = errors.New("nobody has heard why this rank cannot take part")

// tell says at rank 0 that this rank cannot take part. It tries until ctx ends, but not for longer
// than faultTime.
func (g *guest) tell(ctx context.Context, fault *faultError) {
	if g.cfg.Release != nil {
		g.cfg.Release()
	}
	ctx, cancel := clock.WithTimeoutCause(ctx, g.cfg.Clock, faultTime, errUntold)
	defer cancel()
	for pause := contact.FirstPause; ; pause = min(2*pause, contact.LastPause) {
		err := g.tellOnce(ctx, fault)
		if err == nil || contact.IsFinal(err) || clock.Sleep(ctx, g.cfg.Clock, pause) != nil {
			return
		}
	}
}

// tellOnce connects, says the fault and hangs up.
func (g *guest) tellOnce(ctx context.Context, fault *faultError) error {
	conn, err := g.reach(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	cfg := g.cfg
	l := newLink(conn)
	l.finish(appendHello(nil, &hello{rank: cfg.Rank, size: cfg.Size, job: cfg.Job, transport: cfg.Transport, fault: fault.Error()}), contact.FarewellTime)
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

// record notes that a rank has heard the reason. Ranks that come one
// after the other are waited for, so a rank that comes for the first time prolongs the wait.
func (l *latecomers) record(rank int) {
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
// fault is told to all ranks that come, until none has come for faultTime.
func (h *host) graceOver(err error) func() {
	if !isFault(err) {
		return h.endHellos
	}
	l := &h.late
	l.mu.Lock()
	l.missing = make(map[int]bool)
	for rank := 1; rank < h.cfg.Size; rank++ {
		l.missing[rank] = true
	}
	if h.cfg.Size == 0 {
		l.missing[nobody] = true // it does not know whom to wait for
	}
	l.mu.Unlock()
	return func() {
		until := h.cfg.Clock.AfterFunc(faultTime-graceTime, h.endHellos)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.over, l.until = h.endHellos, until
		l.check()
	}
}
