package cast

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/schedgen/schedgen/internal/clock"
)

// inlet is the reader of a sink. It gives the bytes of the pieces in order.
type inlet struct {
	ctx    context.Context
	clock  clock.Clock
	work   chan parcel // closed after the last
	free   chan []byte // pieces that were read, all of the same capacity
	cur    []byte
	rest   []byte       // unread part of cur
	waited atomic.Int64 // total time that reads have waited, in nanoseconds
}

// parcel is a piece that has come.
type parcel struct {
	piece []byte
	news  []byte // the part that is new to the sink
}

func newInlet(ctx context.Context, c clock.Clock) *inlet {
	return &inlet{ctx: ctx, clock: c, work: make(chan parcel, bufs+window), free: make(chan []byte, bufs+window)}
}

var _ io.Reader = (*inlet)(nil)

// Read implements [io.Reader]. It fails once ctx has ended.
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
