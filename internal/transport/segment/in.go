//go:build linux

package segment

import (
	"fmt"
	"sync/atomic"

	"github.com/schedgen/schedgen/runtime/wire"
)

// inbound is the receiving end of one lane from one rank.
type inbound struct {
	line  *laneLine
	rings rings
	cells uint64 // number of cells read
	lines uint32 // number of lines read in the ring of bytes
	head  wire.Header
	done  int  // bytes of the body that are read
	open  bool // head belongs to an unfinished frame
	drop  bool // the sink does not want the rest of the frame
	held  bool // the sink holds the frame

	comm   uint8 // on LaneOps: the lane's communicator
	heard  bool  // for a further communicator: Poll reads it
	ending bool  // for a further communicator: it is closed, and nothing more comes
}

// turn is how many cells of one lane or multicaster are read before the others have their turn.
const turn = 64

// read hands arrivals on lane l to s and reports whether anything was read.
func (t *Transport) read(p *peer, l *inbound, s wire.Sink) bool {
	start := l.cells
	l.held = false
	for range turn {
		if p.gone || !l.waits() {
			break
		}
		took, err := t.readCell(l, s)
		if err != nil {
			t.lose(p, err, s)
			break
		}
		if !took {
			l.held = true
			break
		}
	}
	if l.cells == start {
		return false
	}
	if l.cells-start == turn {
		t.again(p.rank)
	}
	l.release(t, p)
	return true
}

// release tells the sender how much has been read.
func (l *inbound) release(t *Transport, p *peer) {
	store64(&l.line.read, l.cells<<32|uint64(l.lines))
	if atomic.LoadUint32(&l.line.waiting) != 0 {
		store32(&l.line.waiting, 0)
		t.ring(p.rank)
	}
}

// readCell reads the next cell; it returns false if the sink holds it.
func (t *Transport) readCell(l *inbound, s wire.Sink) (bool, error) {
	c := l.rings.cell(l.cells).content
	if err := l.begin(&c); err != nil {
		return false, err
	}
	if !l.open { // it was called off
		l.cells++
		return true, nil
	}
	var dst []byte
	if !l.drop {
		var v wire.Verdict
		if dst, v = s.Body(&l.head); v == wire.Hold {
			return false, nil
		}
		l.drop = v == wire.Drop || len(dst) != l.head.Len
	}
	l.copyBody(dst, &c)
	l.cells++
	if l.done == l.head.Len {
		l.open = false
		if !l.drop {
			t.stats.GotFrames++
			t.stats.GotBytes += uint64(l.done)
			s.Arrived(&l.head, dst)
		}
	}
	return true, nil
}

// begin checks c, a copy, since the segment may change. It begins a frame, or ends a frame that is
// called off.
func (l *inbound) begin(c *content) error {
	if c.flags == flagCut && l.open && l.done > 0 {
		l.open = false
		return nil
	}
	if !l.open || l.done == 0 {
		if c.flags != flagFirst {
			return fmt.Errorf("%w: a cell with flags %d begins a frame", errBroken, c.flags)
		}
		if err := c.decode(&l.head); err != nil {
			return err
		}
		if l.head.Lane == wire.LaneOps && c.comm != l.comm {
			return fmt.Errorf("%w: a frame of communicator %d in the lane of %d", errBroken, c.comm, l.comm)
		}
		l.open, l.done, l.drop = true, 0, false
	} else if c.flags != 0 {
		return fmt.Errorf("%w: a cell with flags %d within a frame", errBroken, c.flags)
	}
	return l.fits(c)
}

// fits checks the lengths of a cell within the frame of l.head.
func (l *inbound) fits(c *content) error {
	short := l.head.Len <= shortBody
	switch {
	case short && int(c.inline) == l.head.Len && c.piece == 0:
	case !short && c.inline == 0 && c.piece > 0 && int64(c.piece) <= int64(min(len(l.rings.bytes)/4, l.head.Len-l.done)):
	default:
		return fmt.Errorf("%w: a cell with %d bytes inside and %d beside it, at byte %d of a body of %d", errBroken, c.inline, c.piece, l.done, l.head.Len)
	}
	return nil
}

// copyBody copies the cell's part of the body to its place in dst, unless it is dropped.
func (l *inbound) copyBody(dst []byte, c *content) {
	if !l.drop {
		copy(dst[l.done:], c.short[:c.inline])
		l.rings.copyOut(dst[l.done:l.done+int(c.piece)], l.lines)
	}
	l.lines += lines(int(c.piece))
	l.done += int(c.inline) + int(c.piece)
}

// waits reports whether there is a cell to read.
func (l *inbound) waits() bool { return l.rings.cell(l.cells).stamped() == uint32(l.cells+1) }
