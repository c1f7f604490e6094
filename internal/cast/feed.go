package cast

import (
	"context"
	"io"
)

// feed cuts the data of a source into pieces, a few pieces ahead of the broadcasts.
type feed struct {
	ctx   context.Context
	size  int         // of a piece, with its head
	full  chan *piece // closed after the last
	free  chan *piece // pieces that every rank has; may hold one piece that breakOff made
	made  int         // number of allocated pieces
	cur   *piece      // the piece that is being filled
	count uint64
	err   error // of the source; valid once full is closed
}

// piece is a piece at the sender.
type piece struct {
	number uint64
	buf    []byte // its head and its bytes
	last   bool
}

// newFeed starts a goroutine that runs source. When source returns, the goroutine closes full and
// ended.
func newFeed(ctx context.Context, source Source, size int) (f *feed, ended <-chan struct{}) {
	f = &feed{ctx: ctx, size: size, full: make(chan *piece, ahead), free: make(chan *piece, most+1)}
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer close(f.full)
		f.err = source(ctx, f)
		if f.err == nil {
			f.err = f.finish()
		}
	}()
	return f, over
}

var _ io.Writer = (*feed)(nil)

// Write implements [io.Writer] for the source. It waits while all pieces are in use.
func (f *feed) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		if f.cur == nil {
			if f.cur, err = f.blank(); err != nil {
				return n, err
			}
		}
		room := f.cur.buf[len(f.cur.buf):f.limit()]
		some := copy(room, b)
		f.cur.buf = f.cur.buf[:len(f.cur.buf)+some]
		n, b = n+some, b[some:]
		if some == len(room) {
			if err := f.hand(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// limit returns the greatest length of the piece that is being filled, in bytes with its head.
func (f *feed) limit() int {
	if f.cur.number == 0 {
		return firstLen
	}
	return f.size
}

// blank returns an empty piece with the next number.
func (f *feed) blank() (p *piece, err error) {
	select {
	case p = <-f.free:
	default:
		if f.made < most {
			f.made++
			p = &piece{buf: make([]byte, f.size)}
			break
		}
		select {
		case p = <-f.free:
		case <-f.ctx.Done():
			return nil, context.Cause(f.ctx)
		}
	}
	p.number, p.buf, p.last = f.count, p.buf[:headLen], false
	f.count++
	return p, nil
}

// hand passes the full piece to the sender.
func (f *feed) hand() error {
	select {
	case f.full <- f.cur:
		f.cur = nil
		return nil
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	}
}

// finish passes the last piece, which may be empty, to the sender.
func (f *feed) finish() (err error) {
	if f.cur == nil {
		if f.cur, err = f.blank(); err != nil {
			return err
		}
	}
	f.cur.last = true
	return f.hand()
}
