package cast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/clock"
)

// errBroken: the sender has not sent all.
var errBroken = errors.New("the sender has given up")

// receiver is any rank but 0.
type receiver struct {
	comm *runtime.Comm
	o    ReceiveOptions
	rank int // in the communicator that the cast began with
	roll *roll
	wg   sync.WaitGroup

	in    *inlet
	over  chan error // how the sink has ended
	sunk  bool       // that was read
	stop  context.CancelCauseFunc
	made  int   // pieces there are
	why   error // the sink failed, or was given up
	done  bool  // the sink has taken all
	bytes int64

	pieces arrivals
	meter  meter
	slow   slowness
}

// slowness says that the sender leaves this rank out.
type slowness struct {
	once  sync.Once
	told  chan struct{}           // closed if its disk is slow
	leave context.CancelCauseFunc // is called otherwise
}

// Receive takes part in what rank 0 sends: sink gets it. It closes comm. It returns nil if the sink has: all is where it belongs.
// After an error of the sink Receive goes on for the sake of the others, and returns the error in the end. If the sender is lost, or takes this
// rank for lost, the error is ErrParted.
func Receive(ctx context.Context, comm *runtime.Comm, sink Sink, o ReceiveOptions) error {
	if comm.Rank() == 0 {
		return errors.Join(errors.New("receive: rank 0 sends"), comm.Close())
	}
	o.Clock, o.Patience, o.piece = clock.OrSystem(o.Clock), cmp.Or(o.Patience, defaultPatience), cmp.Or(o.piece, pieceLen)
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	sinking, stop := context.WithCancelCause(ctx)
	r := &receiver{comm: comm, o: o, rank: comm.Rank(), over: make(chan error, 1), stop: stop, pieces: arrivals{lengths: []int{firstLen}}, meter: meter{clock: o.Clock}, slow: slowness{told: make(chan struct{}), leave: leave}}
	r.in = newInlet(sinking, r.meter.rest)
	r.wg.Go(func() { r.over <- sink(sinking, r.in) })
	failed := r.run(ctx)
	parted := r.why == nil && (errors.Is(failed, errSender) || errors.Is(failed, errAlone))
	stop(cmp.Or(failed, context.Canceled))
	err := errors.Join(failed, r.comm.Close())
	r.wg.Wait()
	if !r.sunk {
		r.sink(<-r.over)
	}
	switch {
	case r.done:
		return nil // what has gone wrong since is not about what is there
	case failed != nil && errors.Is(r.why, failed): // the sink has ended since this rank has
	case r.why != nil && !errors.Is(err, r.why):
		err = errors.Join(r.why, err)
	}
	if err == nil {
		return nil
	}
	if err = fmt.Errorf("receive: %w", err); parted {
		err = &partedError{err}
	}
	return err
}

// run takes part, and goes on without those that are lost.
func (r *receiver) run(ctx context.Context) error {
	r.hear(ctx)
	err := r.receive(ctx)
	for err != nil {
		heir, failed := shrink(ctx, r.comm, err)
		if failed != nil {
			return failed
		}
		r.comm = heir
		r.hear(ctx)
		err = r.again(ctx, err)
	}
	return nil
}

// hear begins to listen over the communicator that there is now.
func (r *receiver) hear(ctx context.Context) {
	comm := r.comm
	r.roll = hear(ctx, &r.wg, comm, func(a *account) { r.listen(ctx, comm, a) })
}

// receive takes all that is still to come over the communicator that there is now, and says how it has ended.
func (r *receiver) receive(ctx context.Context) error {
	for !r.pieces.ended {
		if err := r.piece(ctx); err != nil {
			return err
		}
	}
	if err := r.finish(ctx); err != nil {
		return err
	}
	_, err := r.roll.call(ctx, r.account())
	return err
}

func (r *receiver) account() account {
	a := account{Rank: r.rank, Have: r.pieces.have, Done: r.done, Behind: errors.Is(r.why, ErrSlow)}
	if r.why != nil {
		a.Reason = shorten(r.why.Error())
	}
	if r.done && r.o.Answer != nil {
		a.Answer = r.o.Answer()
	}
	return a
}

// again begins again, with those that are left after lost.
func (r *receiver) again(ctx context.Context, lost error) error {
	for _, f := range r.pieces.open {
		r.in.free <- f.piece
	}
	r.pieces.open = r.pieces.open[:0]
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

// piece starts the broadcasts that are announced, and waits for the one that was started first.
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
		if _, err := r.comm.StartBarrier(ctx); err != nil { // it waits for nobody
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

// take takes a piece that has come.
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
			return err
		}
		r.meter.again(h.number)
	}
	fresh := r.pieces.came(f, h)
	if fresh {
		r.bytes += int64(h.length)
		if r.o.Progress != nil {
			r.o.Progress(Progress{Bytes: r.bytes})
		}
	}
	if fresh && r.why == nil && !r.sunk {
		r.in.work <- parcel{f.piece, h.length}
		if err := r.report(ctx, h.length); err != nil {
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
