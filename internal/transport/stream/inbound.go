package stream

import (
	"fmt"
	"time"

	"github.com/schedgen/schedgen/runtime/wire"
)

const (
	bufferSize  = 1 << 14
	scratchSize = 1 << 16
	// directSize is how long the rest of a body must be to be read directly into its buffer, and
	// not together with later bytes.
	directSize = bufferSize / 2
	// maxReads is how many reads of one connection one Poll makes, so that all get their turn.
	maxReads = 16
)

// receiver is shared by the connections from peers.
type receiver struct {
	held    []*inbound
	scratch []byte // for dropped bodies
}

// phase is the state of a peer's half of a connection.
type phase uint8

const (
	silent   phase = iota // the peer has said nothing
	waiting               // the half has begun, and its turn has not come
	employed              // the half is being read
	finished              // the half is read to its end; only a goodbye may follow
)

// inbound is the half of a connection in which the peer speaks.
type inbound struct {
	*conn
	phase phase
	turn  uint64    // among the halves of that lane, unless it is silent
	held  bool      // it is in receiver.held
	since time.Time // when the connection was accepted

	buf    []byte // buf[r:w] is read and unused
	r, w   int
	sealed sealedIn

	head     wire.Header
	body     bool // head is valid, and its body is awaited
	got      int  // bytes of the body in the buffer
	piece    int  // bytes of the body up to the next record
	dropping bool // the sink does not want the rest

	frames uint // frames read
}

// outcome says why a connection makes no further progress for now.
type outcome uint8

const (
	needMore outcome = iota // everything that was read has been used
	heldBack                // the sink holds the frame
	over                    // the connection is closed, or the turn of the next bytes has not come
)

// ready reads arrivals.
func (c *inbound) ready(s wire.Sink) bool {
	switch {
	case c.p == nil:
		return c.t.meet(c, s)
	case c.held:
		c.rewatch(false, c.writes) // so that nothing spins until the sink takes it
		return false
	}
	return c.t.receive(c, s)
}

// offerHeld offers held frames to the sink again.
func (t *Transport) offerHeld(s wire.Sink) (moved bool) {
	held := t.receiver.held
	t.receiver.held = t.receiver.held[:0]
	for _, c := range held {
		if !c.closed {
			c.held = false
			moved = t.receive(c, s) || moved
		}
	}
	return moved
}

// receive uses the bytes that have been read and reads more, as long as there are more.
func (t *Transport) receive(c *inbound, s wire.Sink) (moved bool) {
	if c.buf == nil {
		c.buf = make([]byte, bufferSize)
	}
	for range maxReads {
		before := c.unused()
		out := t.use(c, s)
		moved = moved || c.closed || c.unused() < before
		if out == heldBack {
			t.hold(c)
		}
		if out != needMore || !c.rewatch(true, c.writes) {
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
	if !c.closed && t.use(c, s) == heldBack {
		t.hold(c)
	}
	return moved
}

func (t *Transport) hold(c *inbound) {
	c.held = true
	t.receiver.held = append(t.receiver.held, c)
}

// unused returns how many bytes are read and unused.
func (c *inbound) unused() int { return c.w - c.r + c.sealed.closed.w - c.sealed.closed.r }

// use hands out the bytes in the buffer.
func (t *Transport) use(c *inbound, s wire.Sink) outcome {
	for {
		out := t.useOpen(c, s)
		if out != needMore || c.sealed.line == nil {
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

// useOpen hands out the opened bytes.
func (t *Transport) useOpen(c *inbound, s wire.Sink) outcome {
	for !c.closed {
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
	return over
}

func heldOrOver(c *inbound) outcome {
	if c.closed {
		return over
	}
	return heldBack
}

// useRecord takes the next record from the buffer.
func (t *Transport) useRecord(c *inbound, s wire.Sink) outcome {
	var h wire.Header
	err := decodeHeader(c.buf[c.r:c.w], &h)
	lane, comm := laneOf(c.lane)
	c.r += recordLen
	switch {
	case err != nil:
	case c.body:
		err = c.goOn(h.Kind)
	case h.Kind == kindGoodbye:
		t.heard(c.p, h.Arg)
		t.finish(c, s)
		return over
	case h.Kind == kindBegin && c.phase == silent:
		if err = t.place(c, h.Seq); err == nil && c.phase == waiting {
			return over
		}
	case h.Kind == kindEnd && c.phase == employed:
		t.finish(c, s)
	case h.Kind >= kindBegin || c.phase != employed || lane == wire.LaneOps && h.Comm != comm:
		err = fmt.Errorf("%w: kind %d of communicator %d is not allowed here", errNoFrame, h.Kind, h.Comm)
	default:
		h.Lane, h.From = lane, c.p.rank
		c.head, c.body, c.got, c.piece, c.dropping = h, true, 0, min(h.Len, pieceSize), false
	}
	if err != nil {
		t.failIn(c, err)
	}
	if c.closed {
		return over
	}
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

// buffer asks the sink where the body goes; ok is false if the body must wait, or the connection
// had to be closed.
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
	if !c.body || rest < directSize || c.r < c.w || c.sealed.line != nil {
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
		return 0, false, t.stop(c, err)
	}
	t.landed(c, s, dst, n)
	return n, n == len(into), needMore
}

func (t *Transport) fillBuffer(c *inbound, s wire.Sink) (n int, full bool, out outcome) {
	end := &c.w
	if c.sealed.line != nil {
		c.makeRoom()
		end = &c.sealed.closed.w
	} else if c.r > 0 {
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
	}
	n, err := read(c.fd, c.buf[*end:])
	if err != nil {
		return 0, false, t.stop(c, err)
	}
	*end += n
	return n, *end == len(c.buf), needMore
}

// stop handles a read without result.
func (t *Transport) stop(c *inbound, err error) outcome {
	switch {
	case again(err):
		return needMore
	case c.phase == employed:
		t.failIn(c, err)
	default:
		t.ceased(c.conn, err)
	}
	return over
}

// ceased handles the end of a connection on which the peer no longer speaks. It closes the
// connection if this rank does not speak there either.
func (t *Transport) ceased(c *conn, err error) {
	expected := !c.out.speaks() || t.parting.now && c.out.idle()
	t.closeConn(c)
	if !expected {
		t.unreached(c.p, fmt.Errorf("tcp: connection to rank %d at %s: %w", c.p.rank, c.p.addr, err))
	}
}

// failIn drops the peer of a connection that is broken or has sent nonsense.
//
// While this rank leaves, its peers close each connection when they have read its goodbye there,
// but still need the rest on other connections.
func (t *Transport) failIn(c *inbound, err error) {
	if !t.parting.now {
		t.lose(c.p, fmt.Errorf("tcp: receive from rank %d: %w", c.p.rank, err))
	}
	t.closeConn(c.conn) // also if the peer was dropped before
}
