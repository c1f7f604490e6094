package cast

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime"
)

// Intake passes a stream to a sink at a receiver. The stream may come over several communicators,
// one after the other: a receiver that was left out, or parted from the sender, continues where it
// stopped. A receiver that has everything may need another communicator to tell the sender so.
type Intake struct {
	clock clock.Clock
	in    *inlet
	over  chan error // gets the sink's error, or nil
	stop  context.CancelCauseFunc

	have  int64 // number of bytes given to the sink
	whole bool  // the whole stream was given to the sink
	made  int   // number of allocated pieces
	sunk  bool  // the value of over was read
	why   error // why the sink failed or was given up
	done  bool  // the sink returned nil
}

// errNoContext is the error of a call with a nil context. A sink that is started with a nil context
// ends with it.
var errNoContext = fmt.Errorf("%w: the context is nil", runtime.ErrInput)

// NewIntake starts sink in a goroutine. The sink ends with ctx, and at once if ctx is nil. c
// measures times; nil means the system's clock. Call Close when no more is to be received.
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

// Have returns the number of bytes of the stream that have come. It must not be called during
// Receive.
func (t *Intake) Have() int64 { return t.have }

// Done reports whether the sink has returned nil, so the whole stream is stored. It must not be
// called during Receive.
func (t *Intake) Done() bool { return t.done }

// Close stops the sink and waits until it has ended. It returns the sink's error, except an error
// that only says that the sink was stopped.
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

// Receive takes part in a cast of rank 0, which sends the stream from byte o.From on. It closes
// comm. It returns nil if the sink has returned nil and this rank was not parted from the sender.
// After an error of the sink, Receive still forwards to other ranks, and returns the error at the
// end.
//
// The error wraps ErrParted if the sender is lost or takes this rank for lost, and ErrSlow if this
// rank is too slow for the others. In these two cases, the sink waits for the rest, which another
// Receive brings. If Done then reports true, nothing is missing, but the sender may not know this.
// Another Receive tells it. After any other error, the sink has ended.
func (t *Intake) Receive(ctx context.Context, comm *runtime.Comm, o ReceiveOptions) error {
	switch {
	case ctx == nil:
		return errors.Join(fmt.Errorf("receive: %w", errNoContext), comm.Close())
	case comm.Rank() == 0:
		return errors.Join(errors.New("receive: rank 0 is the sender and cannot receive"), comm.Close())
	case o.From < 0 || o.From > t.have:
		return errors.Join(fmt.Errorf("receive: the sender begins with byte %d, but only %d bytes have come", o.From, t.have), comm.Close())
	}
	o.Patience, o.piece = cmp.Or(o.Patience, defaultPatience), cmp.Or(o.piece, pieceLen)
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	r := &receiver{
		Intake: t, comm: comm, o: o, rank: comm.Rank(), known: t.have - o.From, bytes: o.From,
		pieces: arrivals{lengths: []int{firstLen}},
		meter:  meter{clock: t.clock, idle: &t.in.waited},
		slow:   slowness{told: make(chan struct{}), leave: leave},
	}
	failed := r.receiveAll(ctx)
	err := errors.Join(failed, r.comm.Close())
	r.wg.Wait()
	r.giveBack()
	if out := r.leftOut(failed, err); out != nil && t.why == nil {
		return out
	}
	return t.ended(failed, err)
}

// ended stops the sink, waits for it, and returns the error of Receive. err is the error so far,
// and failed is the part of it that stopped this rank.
func (t *Intake) ended(failed, err error) error {
	t.stop(cmp.Or(failed, context.Canceled))
	if !t.sunk {
		t.sink(<-t.over)
	}
	switch {
	case t.done:
		return nil // later errors do not concern the written data
	case failed != nil && errors.Is(t.why, failed): // the sink ended because of failed
	case t.why != nil && !errors.Is(err, t.why):
		err = errors.Join(t.why, err)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("receive: %w", err)
}

// sink records how the sink has ended.
func (t *Intake) sink(err error) {
	t.sunk, t.done = true, err == nil && t.why == nil
	if err != nil {
		t.fail(err)
	}
}

// fail stops the sink. The first reason counts.
func (t *Intake) fail(why error) {
	if t.why == nil {
		t.why = why
	}
	t.stop(why)
}

// spare returns the memory of an unused piece, or nil if there is none. It allocates no more than
// most pieces, each of the given number of bytes.
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
	case p := <-t.in.work: // the sink reads no more
		return p.piece[:cap(p.piece)]
	default:
		return nil
	}
}
