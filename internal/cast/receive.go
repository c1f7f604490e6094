package cast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/schedgen/schedgen/runtime"
)

// errBroken says that the sender has not sent everything.
var errBroken = errors.New("the sender has given up")

// receiver is a rank other than 0.
type receiver struct {
	*Intake
	comm *runtime.Comm
	o    ReceiveOptions
	rank int // in the first communicator of the cast
	roll *roll
	wg   sync.WaitGroup

	out   error // why this rank is left out and only forwards to others; nil if it is not
	known int64 // number of next bytes that the sink has from an earlier communicator
	bytes int64 // position in the stream

	pieces arrivals
	meter  meter
	slow   slowness
}

// slowness tells this rank that the sender leaves it out.
type slowness struct {
	once  sync.Once
	told  chan struct{}           // closed if this rank's disk is slow
	leave context.CancelCauseFunc // called otherwise
}

// Receive takes part in a cast of rank 0, and passes the data to sink. It is an [Intake] for one
// communicator only, so it returns nil if sink has returned nil, even if the sender may not know
// this. It closes comm.
func Receive(ctx context.Context, comm *runtime.Comm, sink Sink, o ReceiveOptions) error {
	if ctx == nil {
		return errors.Join(fmt.Errorf("receive: %w", errNoContext), comm.Close())
	}
	t := NewIntake(ctx, sink, nil)
	err := t.Receive(ctx, comm, o)
	if t.done {
		err = nil
	}
	return errors.Join(err, t.Close())
}

// receiveAll takes part, and continues without the ranks that are lost.
func (r *receiver) receiveAll(ctx context.Context) error {
	r.hear(ctx)
	err := r.receive(ctx)
	for err != nil {
		next, failed := shrink(ctx, r.comm, err)
		if failed != nil {
			return failed
		}
		r.comm = next
		r.hear(ctx)
		err = r.again(ctx, err)
	}
	return nil
}

// leftOut returns the error of a rank that is to continue over another communicator, or nil if it
// is not. failed is the error that ended this communicator, and err that error with the one of
// closing it.
func (r *receiver) leftOut(failed, err error) error {
	parted := errors.Is(failed, errSender) || errors.Is(failed, errAlone)
	switch {
	case r.out != nil && !errors.Is(err, r.out):
		err = errors.Join(r.out, err)
	case r.out == nil && !errors.Is(failed, ErrSlow) && !parted:
		return nil
	}
	if err = fmt.Errorf("receive: %w", err); parted {
		err = &partedError{err}
	}
	return err
}

// hear starts to listen over the current communicator.
func (r *receiver) hear(ctx context.Context) {
	comm := r.comm
	r.roll = hear(ctx, &r.wg, comm, func(a *account) { r.listen(ctx, comm, a) })
}

// receive receives the remaining pieces over the current communicator, and takes part in the last
// roll call.
func (r *receiver) receive(ctx context.Context) error {
	for !r.pieces.ended {
		if err := r.piece(ctx); err != nil {
			return err
		}
	}
	if err := r.finish(ctx); err != nil {
		return err
	}
	all, err := r.roll.call(ctx, r.account())
	if err == nil && errors.Is(r.why, errBroken) && all[0].Reason != "" {
		r.why = fmt.Errorf("%w: %s", errBroken, all[0].Reason)
	}
	return err
}

func (r *receiver) account() account {
	a := account{Rank: r.rank, Have: r.pieces.have, Done: r.done, Behind: r.why == nil && r.out != nil}
	if why := cmp.Or(r.why, r.out); why != nil {
		a.Reason = shorten(withoutDetails(why))
	}
	if r.done && r.o.Answer != nil {
		a.Answer = r.o.Answer()
	}
	return a
}

// again continues with the remaining ranks after lost, the error of the communicator before.
func (r *receiver) again(ctx context.Context, lost error) error {
	r.giveBack()
	mine := r.account()
	mine.Silent = errors.Is(lost, runtime.ErrPeerSilent)
	_, err := r.roll.call(ctx, mine)
	if errors.Is(err, errSender) {
		return fmt.Errorf("%w: %w", errSender, lost)
	}
	if err != nil {
		return err
	}
	begin, err := agree(ctx, r.comm, resume{})
	if err != nil {
		return err
	}
	if err := r.pieces.again(begin); err != nil {
		return err
	}
	r.meter.start = start{}
	return r.receive(ctx)
}

// giveBack frees the pieces of broadcasts that have failed.
func (r *receiver) giveBack() {
	for _, f := range r.pieces.open {
		r.in.free <- f.piece
	}
	r.pieces.open = r.pieces.open[:0]
}

// piece starts the announced broadcasts, and waits for the earliest one under way.
func (r *receiver) piece(ctx context.Context) error {
	for r.pieces.startable() {
		p, err := r.buffer(ctx)
		if err != nil {
			return err
		}
		if p == nil {
			break
		}
		if err := r.start(ctx, p); err != nil {
			r.in.free <- p
			return err
		}
	}
	f, err := r.pieces.oldest()
	if err != nil {
		return err
	}
	if err := f.r.Wait(ctx); err != nil {
		return err
	}
	r.pieces.landed()
	return r.take(ctx, f)
}

// start starts the next broadcast.
func (r *receiver) start(ctx context.Context, p []byte) error {
	if r.pieces.confirms() {
		if _, err := r.comm.StartBarrier(ctx); err != nil { // this rank does not wait for it
			return err
		}
	}
	p, err := r.pieces.fit(p)
	if err != nil {
		return err
	}
	req, err := r.comm.StartBcast(ctx, p, 0)
	if err != nil {
		return err
	}
	r.pieces.started(p, req)
	return nil
}

// take processes a piece that has come.
func (r *receiver) take(ctx context.Context, f flight) error {
	h, err := open(f.piece)
	if err == nil && h.number != f.number {
		err = fmt.Errorf("%w: it is number %d, not %d", errPiece, h.number, f.number)
	}
	if err != nil {
		return err
	}
	r.meter.piece(len(f.piece))
	if h.flags&flagPause != 0 {
		if err := r.comm.Barrier(ctx); err != nil {
			r.in.free <- f.piece
			return err
		}
		r.meter.again(h.number)
	}
	fresh := r.pieces.add(f, h)
	if fresh {
		r.bytes += int64(h.length)
		if r.o.Progress != nil {
			r.o.Progress(Progress{Bytes: r.bytes})
		}
	}
	if fresh && r.takes() {
		if err := r.hand(ctx, f.piece, h.length); err != nil {
			return err
		}
	} else {
		r.in.free <- f.piece
	}
	if h.flags&flagLast != 0 && h.flags&flagBroken != 0 {
		r.fail(errBroken)
	}
	return nil
}
