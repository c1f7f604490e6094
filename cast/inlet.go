package cast

import (
	"context"
	"io"
)

// inlet is what a sink reads from: the pieces that have come, in order.
type inlet struct {
	ctx  context.Context
	work chan parcel // closed after the last
	free chan []byte // pieces that were read; all of them have the same capacity
	cur  []byte
	rest []byte        // what is still to be read of cur
	idle func() func() // measures how long a read waits
}

// parcel is a piece that has come.
type parcel struct {
	piece []byte // with its head
	bytes int    // behind that
}

func newInlet(ctx context.Context, idle func() func()) *inlet {
	return &inlet{ctx: ctx, idle: idle, work: make(chan parcel, bufs), free: make(chan []byte, bufs)}
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
		ended := in.idle()
		select {
		case p, ok := <-in.work:
			ended()
			if !ok {
				return 0, io.EOF
			}
			in.cur, in.rest = p.piece, p.piece[headLen:headLen+p.bytes]
		case <-in.ctx.Done():
			return 0, context.Cause(in.ctx)
		}
	}
	n := copy(b, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}
