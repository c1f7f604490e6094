package cast

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/clock"
)

// Intake is where what is sent goes at a receiver: a sink, which takes one stream. It may come over
// several communicators, one after the other: a receiver that was left out, or parted from the
// sender, goes on where it has stopped.
type Intake struct {
	clock clock.Clock
	in    *inlet
	over  chan error // how the sink has ended
	stop  context.CancelCauseFunc

	have  int64 // bytes that were given to the sink
	whole bool  // these are all
	made  int   // pieces there are
	sunk  bool  // over was read
	why   error // the sink failed, or was given up
	done  bool  // the sink has taken all
}

// errNoContext is the error of a call whose context is nil, and the cause of the end of a sink that
// is started under one.
var errNoContext = fmt.Errorf("%w: the context is nil", runtime.ErrInput)

// NewIntake starts a sink, which ends when ctx does, and at once if that is nil. Its times are
// those of c; nil is the system's.
func NewIntake(ctx context.Context, sink Sink, c clock.Clock) *Intake {
	if ctx == nil {
		ended, end := context.WithCancelCause(context.Background())
		end(errNoContext)
		ctx = ended
	}
	ctx, stop := context.WithCancelCause(ctx)
	c = clock.OrSystem(c)
	t := &Intake{clock: c, in: newInlet(ctx, c), over: make(chan error, 1), stop: stop}
	go func() { t.over <- sink(ctx, t.in) }()
	return t
}

// Have returns how many bytes of the stream have come. It is not to be called inside Receive.
func (t *Intake) Have() int64 { return t.have }

// Close gives the sink up, unless it has ended, and returns when it has. The error is the sink's,
// unless it is that it was given up.
func (t *Intake) Close() error {
	t.stop(context.Canceled)
	if t.sunk {
		return nil
	}
	t.sunk = true
	if err := <-t.over; err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Receive takes part in what rank 0 sends, which begins where o.From says in the stream. It closes
// comm. It returns nil if the sink has: all is where it belongs. After an error of the sink Receive
// goes on for the sake of the others, and returns the error in the end.
//
// If the sender is lost, or takes this rank for lost, the error is ErrParted, and if this rank is
// too slow for the others ErrSlow: then the sink waits for more, by another Receive. After any
// other there is no more to come.
func (t *Intake) Receive(ctx context.Context, comm *runtime.Comm, o ReceiveOptions) error {
	switch {
	case ctx == nil:
		return errors.Join(fmt.Errorf("receive: %w", errNoContext), comm.Close())
	case comm.Rank() == 0:
		return errors.Join(errors.New("receive: rank 0 sends"), comm.Close())
	case o.From < 0 || o.From > t.have:
		return errors.Join(fmt.Errorf("receive: what is sent begins with byte %d, and %d have come", o.From, t.have), comm.Close())
	}
	o.Patience, o.piece = cmp.Or(o.Patience, defaultPatience), cmp.Or(o.piece, pieceLen)
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	r := &receiver{
		Intake: t, comm: comm, o: o, rank: comm.Rank(), known: t.have - o.From, bytes: o.From,
		pieces: arrivals{lengths: []int{firstLen}}, meter: meter{clock: t.clock, idle: &t.in.waited}, slow: slowness{told: make(chan struct{}), leave: leave},
	}
	failed := r.run(ctx)
	err := errors.Join(failed, r.comm.Close())
	r.wg.Wait()
	r.giveBack()
	if out := r.leftOut(failed, err); out != nil && t.why == nil {
		return out
	}
	return t.ended(failed, err)
}

// ended returns how it has ended, with err, of which failed is the part that has ended the sink,
// too.
func (t *Intake) ended(failed, err error) error {
	t.stop(cmp.Or(failed, context.Canceled))
	if !t.sunk {
		t.sink(<-t.over)
	}
	switch {
	case t.done:
		return nil // what has gone wrong since is not about what is there
	case failed != nil && errors.Is(t.why, failed): // the sink has ended since this rank has
	case t.why != nil && !errors.Is(err, t.why):
		err = errors.Join(t.why, err)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("receive: %w", err)
}

// sink takes note of how the sink has ended.
func (t *Intake) sink(err error) {
	t.sunk, t.done = true, err == nil && t.why == nil
	if err != nil {
		t.fail(err)
	}
}

// fail gives the sink up, if it has not ended. The first reason counts.
func (t *Intake) fail(why error) {
	if t.why == nil {
		t.why = why
	}
	t.stop(why)
}

// spare returns a piece that nobody needs, nil if there is none. There are most pieces at most.
func (t *Intake) spare(most, bytes int) []byte {
	select {
	case p := <-t.in.free:
		return p[:cap(p)]
	default:
	}
	if t.made < most {
		t.made++
		return make([]byte, bytes)
	}
	if t.why == nil && !t.sunk {
		return nil
	}
	select {
	case p := <-t.in.work: // nobody reads it any more
		return p.piece[:cap(p.piece)]
	default:
		return nil
	}
}
