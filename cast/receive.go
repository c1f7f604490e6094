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

	origin  uint64 // the first piece over comm
	next    uint64 // the piece whose broadcast is started next
	have    uint64 // all below have come
	lengths []int  // of the pieces that are announced, from next on
	open    []flight
	ended   bool // the last piece has come

	meter meter
	slow  slowness
}

// slowness says that the sender leaves this rank out.
type slowness struct {
	once  sync.Once
	told  chan struct{}           // closed if its disk is slow
	leave context.CancelCauseFunc // is called otherwise
}

// flight is a broadcast under way.
type flight struct {
	number uint64
	piece  []byte
	r      *runtime.Request
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
	r := &receiver{comm: comm, o: o, rank: comm.Rank(), over: make(chan error, 1), stop: stop, lengths: []int{firstLen}, meter: meter{clock: o.Clock}, slow: slowness{told: make(chan struct{}), leave: leave}}
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
	for !r.ended {
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
	a := account{Rank: r.rank, Have: r.have, Done: r.done, Behind: errors.Is(r.why, ErrSlow)}
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
	for _, f := range r.open {
		r.in.free <- f.piece
	}
	r.open = r.open[:0]
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
	switch {
	case err != nil:
		return err
	case begin.From > r.have || begin.Length == 0 && !r.ended:
		return fmt.Errorf("the sender goes on with piece %d of %d bytes, and %d have come", begin.From, begin.Length, r.have)
	}
	r.origin, r.next, r.lengths, r.meter.start = begin.From, begin.From, nil, start{}
	if begin.Length > 0 {
		r.lengths, r.ended = []int{begin.Length}, false
	}
	return r.receive(ctx)
}

// piece starts the broadcasts that are announced, and waits for the one that was started first.
func (r *receiver) piece(ctx context.Context) error {
	for len(r.lengths) > 0 && len(r.open) < window {
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
	if len(r.open) == 0 {
		return fmt.Errorf("%w: no piece follows, and it was not the last", errPiece)
	}
	f := r.open[0]
	if err := f.r.Wait(ctx); err != nil {
		return err
	}
	r.open = append(r.open[:0], r.open[1:]...)
	return r.take(ctx, f)
}

// start starts the next broadcast.
func (r *receiver) start(ctx context.Context, p []byte) error {
	if r.next%stride == 0 && r.next > r.origin {
		if _, err := r.comm.StartBarrier(ctx); err != nil { // with it the rank confirms; it waits for nobody
			return err
		}
	}
	if r.lengths[0] > len(p) {
		return fmt.Errorf("%w: it has %d bytes, at most %d are expected", errPiece, r.lengths[0], len(p))
	}
	p = p[:r.lengths[0]]
	req, err := r.comm.StartBcast(ctx, p, 0)
	if err != nil {
		return err
	}
	r.open = append(r.open, flight{r.next, p, req})
	r.next, r.lengths = r.next+1, r.lengths[1:]
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
	r.lengths = append(r.lengths, h.announce...)
	fresh := f.number == r.have
	if fresh {
		r.have++
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
	if h.flags&flagLast != 0 {
		r.ended = true
		if h.flags&flagBroken != 0 {
			r.fail(errBroken)
		}
	}
	return nil
}
