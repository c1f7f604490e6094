package stream

import (
	"fmt"
	"slices"
	"time"

	"github.com/schedgen/schedgen/runtime/wire"
)

const (
	bufferSize  = 1 << 14
	scratchSize = 1 << 16
	// directSize is the rest of a body from which on it is read straight
	// into its buffer instead of together with what follows it.
	directSize = bufferSize / 2
	// maxReads bounds the reads of one connection in one Poll, so that all
	// get their turn.
	maxReads = 16
)

// receiver is what connections from peers share.
type receiver struct {
	held    []*inbound
	scratch []byte // where dropped bodies go
}

// inbound is a connection that a peer has opened.
type inbound struct {
	t     *Transport
	p     *peer  // nil until it has said who it is
	lane  int    // its index in peer.in
	turn  uint64 // among the connections of that lane
	fd    int
	token int32 // -1 while it is held back and not watched
	dead  bool
	held  bool
	since time.Time // when it was accepted

	buf    []byte // buf[r:w] has been read and not been used
	r, w   int
	sealed sealedIn

	head     wire.Header
	body     bool // head is valid, and its body is awaited
	got      int  // bytes of the body that are in the buffer
	piece    int  // bytes of it up to the next record
	dropping bool // the sink does not want the rest
	ended    bool // nothing more comes in this communicator

	frames uint // that have been read
}

// outcome says why a connection makes no further progress for now.
type outcome uint8

const (
	needMore outcome = iota // everything that was read has been used
	heldBack                // the sink does not want it yet
	over                    // the connection is closed
)

// Ready implements [reactor.Source].
func (c *inbound) Ready(s wire.Sink, read, _ bool) bool {
	switch {
	case !read:
		return false
	case c.p == nil:
		return c.t.meet(c, s)
	case c.held:
		c.t.reactor.Unwatch(c.fd, c.token) // so that nothing spins until the sink takes it
		c.token = -1
		return false
	}
	return c.t.receive(c, s)
}

// offerHeld asks the sink again about what it has held back.
func (t *Transport) offerHeld(s wire.Sink) (moved bool) {
	held := t.receiver.held
	t.receiver.held = t.receiver.held[:0]
	for _, c := range held {
		if !c.dead {
			c.held = false
			moved = t.receive(c, s) || moved
		}
	}
	return moved
}

// receive uses what has been read and reads more, as long as there is more.
func (t *Transport) receive(c *inbound, s wire.Sink) (moved bool) {
	for range maxReads {
		before := c.unused()
		out := t.use(c, s)
		moved = moved || c.dead || c.unused() < before
		if out == heldBack {
			t.hold(c)
		}
		if out != needMore || !t.rearm(c) {
			return moved
		}
		n, full, out := t.fill(c, s)
		moved = moved || n > 0
		if out == heldBack {
			t.hold(c)
		}
		if out != needMore {
			return moved
		}
		if !full {
			break
		}
	}
	if !c.dead && t.use(c, s) == heldBack {
		t.hold(c)
	}
	return moved
}

func (t *Transport) hold(c *inbound) {
	c.held = true
	t.receiver.held = append(t.receiver.held, c)
}

// rearm watches a connection again that is no longer held back.
func (t *Transport) rearm(c *inbound) bool {
	if c.token >= 0 {
		return true
	}
	var err error
	if c.token, err = t.reactor.Watch(c.fd, c, true, false); err != nil {
		t.failIn(c, err)
		return false
	}
	return true
}

// unused returns how many bytes have been read and not been used.
func (c *inbound) unused() int { return c.w - c.r + c.sealed.closed.w - c.sealed.closed.r }

// use hands out what is in the buffer.
func (t *Transport) use(c *inbound, s wire.Sink) outcome {
	for {
		out := t.useOpen(c, s)
		if out != needMore || c.sealed.in == nil {
			return out
		}
		opened, err := t.openNext(c)
		if err != nil {
			t.failIn(c, err)
			return over
		}
		if !opened {
			return needMore
		}
	}
}

// useOpen hands out what is open.
func (t *Transport) useOpen(c *inbound, s wire.Sink) outcome {
	for {
		if !c.body || c.got == c.piece && c.got < c.head.Len {
			if c.w-c.r < recordLen {
				return needMore
			}
			if out := t.useRecord(c, s); out != needMore {
				return out
			}
			if !c.body {
				continue
			}
		}
		dst, ok := t.buffer(c, s)
		if !ok {
			return heldOrOver(c)
		}
		k := min(c.w-c.r, c.piece-c.got)
		if !c.dropping {
			copy(dst[c.got:], c.buf[c.r:c.r+k])
		}
		c.r += k
		if t.landed(c, s, dst, k); c.body && c.got < c.piece {
			return needMore
		}
	}
}

func heldOrOver(c *inbound) outcome {
	if c.dead {
		return over
	}
	return heldBack
}

// useRecord takes the next record out of the buffer.
func (t *Transport) useRecord(c *inbound, s wire.Sink) outcome {
	var h wire.Header
	err := decodeHeader(c.buf[c.r:c.w], &h)
	lane, comm := laneOf(c.lane)
	switch {
	case err != nil:
	case c.body:
		err = c.goOn(h.Kind)
	case h.Kind == kindGoodbye:
		t.heard(c.p, h.Arg)
		t.finish(c, s)
		return over
	case h.Kind == kindEnd && lane == wire.LaneOps:
		c.ended = true
	case h.Kind >= kindMore || lane == wire.LaneOps && h.Comm != comm:
		err = fmt.Errorf("%w: kind %d of communicator %d where it cannot be", errNoFrame, h.Kind, h.Comm)
	default:
		h.Lane, h.From = lane, c.p.rank
		c.head, c.body, c.got, c.piece, c.dropping, c.ended = h, true, 0, min(h.Len, pieceSize), false, false
	}
	if err != nil {
		t.failIn(c, err)
		return over
	}
	c.r += recordLen
	return needMore
}

// goOn takes a record within a body.
func (c *inbound) goOn(k wire.FrameKind) error {
	switch k {
	case kindMore:
		c.piece = min(c.head.Len, c.got+pieceSize)
	case kindCut:
		c.body = false
	default:
		return fmt.Errorf("%w: kind %d within a body", errNoFrame, k)
	}
	return nil
}

// finish ends a connection that has been read to its end.
func (t *Transport) finish(c *inbound, s wire.Sink) {
	p := c.p
	p.end.read++
	t.closeIn(c)
	for i, heir := range p.heirs {
		if heir.lane == c.lane && heir.turn == p.inTurn[c.lane] {
			p.heirs = slices.Delete(p.heirs, i, i+1)
			t.employ(heir)
			t.receive(heir, s)
			return
		}
	}
}

// buffer asks the sink where the body goes; it reports false if it is to be
// left, or if the connection had to be given up.
func (t *Transport) buffer(c *inbound, s wire.Sink) (dst []byte, ok bool) {
	if c.dropping {
		return nil, true
	}
	dst, v := s.Body(&c.head)
	switch {
	case v == wire.Hold:
		return nil, false
	case v == wire.Drop:
		c.dropping = true
		return nil, true
	case len(dst) != c.head.Len:
		t.failIn(c, fmt.Errorf("a buffer of %d bytes for a body of %d", len(dst), c.head.Len))
		return nil, false
	}
	return dst, true
}

// landed counts n further bytes of the body.
func (t *Transport) landed(c *inbound, s wire.Sink, dst []byte, n int) {
	c.got += n
	if c.got < c.head.Len {
		return
	}
	c.body = false
	if c.frames++; c.frames%relaxEvery == 0 && c.p.near {
		relax(c.fd)
	}
	t.stats.GotFrames++
	t.stats.GotBytes += uint64(c.head.Len)
	if !c.dropping {
		s.Arrived(&c.head, dst)
	}
}

// fill reads once. full says that there may be more.
func (t *Transport) fill(c *inbound, s wire.Sink) (n int, full bool, out outcome) {
	rest := c.piece - c.got
	if !c.body || rest < directSize || c.r < c.w || c.sealed.in != nil {
		return t.fillBuffer(c, s)
	}
	dst, ok := t.buffer(c, s)
	if !ok {
		return 0, false, heldOrOver(c)
	}
	into := t.receiver.scratch[:min(rest, len(t.receiver.scratch))]
	if !c.dropping {
		into = dst[c.got:c.piece]
	}
	n, err := read(c.fd, into)
	if err != nil {
		return 0, false, t.stop(c, s, err)
	}
	t.landed(c, s, dst, n)
	return n, n == len(into), needMore
}

func (t *Transport) fillBuffer(c *inbound, s wire.Sink) (n int, full bool, out outcome) {
	end := &c.w
	if c.sealed.in != nil {
		c.makeRoom()
		end = &c.sealed.closed.w
	} else if c.r > 0 {
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
	}
	n, err := read(c.fd, c.buf[*end:])
	if err != nil {
		return 0, false, t.stop(c, s, err)
	}
	*end += n
	return n, *end == len(c.buf), needMore
}

// stop handles a read that has brought nothing.
func (t *Transport) stop(c *inbound, s wire.Sink, err error) outcome {
	switch {
	case again(err):
		return needMore
	case err == errEnded && c.ended && c.unused() == 0:
		t.finish(c, s)
	default:
		t.failIn(c, err)
	}
	return over
}

// failIn gives up the peer of a connection that is broken or talks nonsense.
//
// While this rank leaves, its peers close what they have opened as soon as they
// know, and still have to be sent what is left.
func (t *Transport) failIn(c *inbound, err error) {
	if t.parting.now {
		t.closeIn(c)
		return
	}
	t.lose(c.p, fmt.Errorf("tcp: receive from rank %d: %w", c.p.rank, err))
	t.closeIn(c) // also where the peer has been given up before
}

func (t *Transport) closeIn(c *inbound) {
	if c.dead {
		return
	}
	if c.p != nil && c.p.in[c.lane] == c {
		c.p.in[c.lane] = nil
	}
	c.dead = true
	t.reactor.Unwatch(c.fd, c.token)
	closeFD(c.fd)
	c.fd, c.token = -1, -1
}
