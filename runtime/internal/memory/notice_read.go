//go:build linux

package memory

import (
	"fmt"
	"sync/atomic"

	"github.com/schedgen/schedgen/runtime/wire"
)

// listener is the receiving end of one rank's notices.
type listener struct {
	rank     int
	cells    *[noticeCells]noticeCell
	position *positionLine // of this rank
	next     uint64        // the cell to look at
	head     wire.Header
	held     bool // the sink has said not yet
	heeded   bool // it is in Transport.heeded
}

// maxHeeded is how many ranks' notices Poll looks for without being rung: of
// those that were heard first, such as this rank's master. The others ring.
const maxHeeded = 4

// heed hands to s the notices of p and reports whether there were any.
func (t *Transport) heed(p *peer, s wire.Sink) (moved bool) {
	l := &t.heard[p.rank]
	l.held = false
	for n := 0; !p.gone && l.waits(); n++ {
		if n == turn {
			store32(&p.in[wire.LaneOps].line.noticed, 1)
			t.again(p.rank)
			break
		}
		own, err := l.look(t.rank)
		if err != nil {
			t.lose(p, err, s)
		} else if own {
			if l.held = !t.notice(l, s); l.held {
				break
			}
			moved = true
		}
	}
	return moved
}

// rung reports whether p has rung for a notice since that was asked last.
func (p *peer) rung() bool {
	word := &p.in[wire.LaneOps].line.noticed
	if atomic.LoadUint32(word) == 0 {
		return false
	}
	store32(word, 0)
	return true
}

func (l *listener) cell() *noticeCell { return &l.cells[l.next%noticeCells] }

// waits reports whether the next notice is there, or a later one in its place.
func (l *listener) waits() bool { return atomic.LoadUint64(&l.cell().stamp) > l.next }

// look reports whether the next notice is for rank; one that is not is passed
// over, and so are those that are overwritten: they were not, either.
func (l *listener) look(rank int) (own bool, err error) {
	c := l.cell()
	stamp := atomic.LoadUint64(&c.stamp)
	switch ahead := stamp - l.next; {
	case ahead == 1:
		own = atomic.LoadUint64(&c.ranks[rank/64])&(1<<(rank%64)) != 0
		if atomic.LoadUint64(&c.stamp) != stamp {
			return false, nil // and so own is of a later one
		}
		if !own {
			l.next++
		}
		return own, nil
	case ahead%noticeCells > 1:
		return false, fmt.Errorf("%w: the stamp %d where notice %d belongs", errBroken, stamp, l.next+1)
	default: // of the last notice, or of the one before, which is all there was before it
		l.next += ahead - ahead%noticeCells - noticeCells + 1
		return false, nil
	}
}

// notice hands to s the next notice of l, which is for this rank and therefore
// stays until this rank says that it is read; false means that s holds it back.
func (t *Transport) notice(l *listener, s wire.Sink) bool {
	c := l.cell()
	l.head = wire.Header{
		Kind: wire.FrameSlot, Lane: wire.LaneOps, From: l.rank,
		Seq: c.seq, Epoch: c.epoch, Slot: c.slot, Arg: c.arg, Print: c.print,
	}
	dst, v := s.Body(&l.head)
	if v == wire.Hold {
		return false
	}
	l.next++
	store64(&l.position.notices, l.next)
	if v == wire.Accept && len(dst) == 0 {
		t.stats.GotFrames++
		s.Arrived(&l.head, dst)
	}
	t.listen(l)
	return true
}

// listen has every Poll look for notices of l, and the sender told of it: either
// it rings, or it has seen this and the next Poll finds what it writes.
func (t *Transport) listen(l *listener) {
	if !l.heeded && len(t.heeded) < maxHeeded {
		l.heeded = true
		t.heeded = append(t.heeded, l)
		store32(&l.position.listens, 1)
	}
}

// noticed returns the bits, of word i, of the ranks that have written a notice
// for which they need not ring.
func (t *Transport) noticed(i int) (set uint64) {
	for _, l := range t.heeded {
		if l.rank/64 == i && l.waits() {
			set |= 1 << (l.rank % 64)
		}
	}
	return set
}
