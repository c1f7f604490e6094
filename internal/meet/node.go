package meet

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
	"github.com/schedgen/schedgen/internal/notice"
)

// graceTime is how long a rank stays after its meeting has failed, to tell late ranks the reason.
const graceTime = 200 * time.Millisecond

// faultTime is how long a rank tries to tell the others why it, or another one, cannot take part.
const faultTime = 2 * time.Second

// node is a rank in the tree while ranks meet: the host of its children (host.go), and the guest of
// its parent (join.go). It belongs to the goroutine inside run, to which other goroutines post
// functions.
type node struct {
	cfg       *Config
	id        [16]byte // drawn by rank 0
	roster    roster
	children  map[int]*child // by rank
	directory directory      // of rank 0
	parent    *link          // connection to the parent, if there is one now
	batching  bool           // the next news waits for a batch
	table     *Meeting       // nil: not all ranks have come
	going     bool           // the parent says that all are prepared

	inbox   chan func() error
	closed  chan struct{} // closed when posted functions are no longer run
	why     string        // the outcome, "" if it is good; valid after closed is closed
	outcome *joined       // what has come of joining the parent

	trouble notice.Trouble // how far joining the parent is, or its problem

	later func() net.Listener // where this rank accepts connections when all have met

	late latecomers // ranks that hear the reason after the meeting has failed

	door       net.Listener // where guests come in; nil: there is none
	strangers  contact.Strangers
	early      earlies
	hellosOver context.Context // ends the hellos
	endHellos  context.CancelFunc
	wg         sync.WaitGroup
}

func newNode(cfg *Config) *node {
	n := &node{
		cfg: cfg, roster: newRoster(cfg.Rank, cfg.Size), children: map[int]*child{}, directory: newDirectory(),
		inbox: make(chan func() error), closed: make(chan struct{}),
	}
	n.hellosOver, n.endHellos = context.WithCancel(context.Background())
	n.strangers.Most = fanOut + spareStrangers
	if cfg.Rank == 0 && cfg.Doors == nil {
		n.strangers.Most = cfg.Size + spareStrangers
	}
	n.early.most = cfg.Size + spareStrangers
	first, end := childrenOf(cfg.Rank, cfg.Size)
	for rank := first; rank < end; rank++ {
		n.children[rank] = &child{}
	}
	return n
}

// post makes run call do and reports whether it will.
func (n *node) post(do func() error) bool {
	select {
	case n.inbox <- do:
		return true
	case <-n.closed:
		return false
	}
}

// until runs posted functions until done.
func (n *node) until(ctx context.Context, done func() bool) error {
	for !done() {
		select {
		case do := <-n.inbox:
			if err := do(); err != nil {
				return err
			}
		case <-ctx.Done():
			return &lateError{context.Cause(ctx)}
		}
	}
	return nil
}

// prepareAll returns when all ranks are prepared, or none will be. giveUp ends the attempts to join the
// parent, which all ranks except 0 have.
func (n *node) prepareAll(ctx context.Context, giveUp context.CancelCauseFunc) (*Meeting, error) {
	stop := notice.Wait(n.cfg.Clock, n.cfg.Log, n.waiting)
	err := n.meet(ctx)
	stop()
	if err != nil {
		err = n.explain(ctx, err, giveUp)
	}
	n.why = n.reasonForAll(err)
	close(n.closed)
	n.dismiss()
	if err != nil && n.door != nil {
		n.cfg.Clock.AfterFunc(graceTime, n.graceOver(err))
		<-n.hellosOver.Done()
	} else if n.cfg.Share == nil {
		n.strangers.Close()
	}
	n.endHellos()
	if shut := n.closeDoor(); err == nil {
		err = shut
	}
	early := n.early.takeAll()
	if err != nil {
		for _, e := range early {
			e.Conn.Close()
		}
		if own := new(faultError); errors.As(err, &own) && own.rank == n.cfg.Rank {
			return nil, own.err
		}
		return nil, err
	}
	n.table.Early = early
	n.table.Refused, _ = n.strangers.Count()
	return n.table, nil
}

// meet is the course of a successful meeting.
func (n *node) meet(ctx context.Context) error {
	if n.cfg.Fault != nil {
		return &faultError{n.cfg.Rank, n.cfg.Fault}
	}
	if err := n.until(ctx, func() bool { return n.table != nil }); err != nil {
		return err
	}
	if err := n.handOut(); err != nil {
		return err
	}
	n.table.Listener = n.later() // it is open: the rank's address is in the table
	if err := n.prepareSelf(ctx); err != nil {
		return err
	}
	if err := n.until(ctx, func() bool { return len(n.unprepared()) == 0 }); err != nil || n.cfg.Rank == 0 {
		return err
	}
	if n.parent != nil { // otherwise the outcome of joining comes in a moment
		n.parent.send([]byte{reportReady})
	}
	return n.until(ctx, func() bool { return n.going })
}

// prepareSelf prepares this rank. If the meeting fails meanwhile, it ends the preparation and returns
// that error.
func (n *node) prepareSelf(ctx context.Context) error {
	preparing, end := context.WithCancelCause(ctx)
	defer end(nil)
	result := make(chan error, 1)
	n.wg.Go(func() {
		result <- prepare(preparing, n.cfg, n.table)
		n.post(func() error { return nil }) // until looks again
	})
	if err := n.until(ctx, func() bool { return len(result) > 0 }); err != nil {
		end(err)
		<-result // the first error counts
		return err
	}
	if err := <-result; err != nil {
		return &faultError{n.cfg.Rank, err}
	}
	return nil
}
