package cast

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/schedgen/schedgen/runtime/clock"
)

// inlet is what a sink reads from: the pieces that have come, in order.
type inlet struct {
	ctx    context.Context
	clock  clock.Clock
	work   chan parcel // closed after the last
	free   chan []byte // pieces that were read; all of them have the same capacity
	cur    []byte
	rest   []byte       // what is still to be read of cur
	waited atomic.Int64 // nanoseconds for which reads have waited, in all
}

// parcel is a piece that has come.
type parcel struct {
	piece []byte
	news  []byte // the part of it that the sink is to get
}

func newInlet(ctx context.Context, c clock.Clock) *inlet {
	return &inlet{ctx: ctx, clock: c, work: make(chan parcel, bufs+window), free: make(chan []byte, bufs+window)}
}

var _ io.Reader = (*inlet)(nil)

// Read implements [io.Reader]. It fails as soon as the sink is given up.
func (in *inlet) Read(b []byte) (int, error) {
	if in.ctx.Err() != nil {
		return 0, context.Cause(in.ctx)
	}
	for len(in.rest) == 0 {
		if in.cur != nil {
			in.free <- in.cur
			in.cur = nil
		}
		began := in.clock.Now()
		select {
		case p, ok := <-in.work:
			in.waited.Add(int64(in.clock.Now().Sub(began)))
			if !ok {
				return 0, io.EOF
			}
			in.cur, in.rest = p.piece, p.news
		case <-in.ctx.Done():
			return 0, context.Cause(in.ctx)
		}
	}
	n := copy(b, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}
