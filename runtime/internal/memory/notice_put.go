//go:build linux

package memory

import (
	"fmt"
	"sync/atomic"

	"github.com/schedgen/schedgen/runtime/wire"
)

// poster is the sending end of this rank's notices: a flag that a rank sets once
// and that all whom it concerns look at (paper 003, section 4.1). A cell is
// written again when all whom it was for have read it.
type poster struct {
	cells   *[noticeCells]noticeCell
	written uint64
	read    uint64 // cells below this one are read by all whom they were for
	readers []heeder
}

// heeder is what this rank knows of another that reads its notices.
type heeder struct {
	position *positionLine
	behind   uint64 // the cell behind the last notice for it
	listens  bool   // as in position, once it does
}

// rankSet has the bit of each rank in it.
type rankSet [MaxSize / 64]uint64

func (s *rankSet) has(rank int) bool {
	return uint(rank) < MaxSize && s[rank/64]&(1<<(rank%64)) != 0
}

// PutAll implements [wire.GroupPutter]. Notices are of the first communicator: one
// that is held back must not keep those of another. There and while a reader is too far behind for
// a notice, each rank gets a put of its own.
func (t *Transport) PutAll(to []int, f *wire.Frame) {
	if len(to) < 2 || f.Comm > 0 || f.Kind != wire.FrameSlot || f.Lane != wire.LaneOps || len(f.Body) > 0 || t.closed || !t.vacant() {
		for _, rank := range to {
			t.Put(rank, f)
		}
		return
	}
	ranks := t.addressees(to)
	t.post.write(&f.Header, ranks[:t.park.words])
	for _, rank := range to {
		if ranks.has(rank) {
			t.notify(rank)
			t.stats.PutFrames++
		}
		discard(f)
	}
}

// addressees returns those of to that the next notice is for.
func (t *Transport) addressees(to []int) (ranks rankSet) {
	for _, rank := range to {
		if rank >= 0 && rank < t.size && rank != t.rank && !t.peers[rank].gone {
			t.post.readers[rank].behind = t.post.written + 1
			ranks[rank/64] |= 1 << (rank % 64)
		}
	}
	return ranks
}

// write writes the next notice.
func (m *poster) write(h *wire.Header, ranks []uint64) {
	c := &m.cells[m.written%noticeCells]
	store64(&c.stamp, m.written)
	c.seq, c.epoch, c.slot, c.arg, c.print = h.Seq, h.Epoch, h.Slot, h.Arg, h.Print
	for i, word := range ranks {
		atomic.StoreUint64(&c.ranks[i], word)
	}
	m.written++
	store64(&c.stamp, m.written)
}

// notify rings a rank unless it polls and looks for this one's notices by itself.
// It says so, or that it does not any more, before it looks for the last time;
// this rank has written the notice before it looks at what the other says.
func (t *Transport) notify(to int) {
	r := &t.post.readers[to]
	if !r.listens {
		r.listens = atomic.LoadUint32(&r.position.listens) != 0
	}
	if !r.listens || atomic.LoadUint32(&t.peers[to].bell.parked) != polling {
		store32(&t.peers[to].out[wire.LaneOps].line.noticed, 1)
		t.ring(to)
	}
}

// vacant reports whether the next cell may be written. It looks at the lines
// that the readers write only when the cells that were free are used up.
func (t *Transport) vacant() bool {
	m := &t.post
	if m.written-m.read < noticeCells {
		return true
	}
	read := m.written
	for rank := range m.readers {
		r, p := &m.readers[rank], &t.peers[rank]
		if p.gone || r.behind <= m.read {
			continue
		}
		at := atomic.LoadUint64(&r.position.notices)
		if at > m.written {
			t.loseLater(p, fmt.Errorf("%w: it has read %d notices of %d", errBroken, at, m.written))
		}
		if at < r.behind {
			read = min(read, at)
		}
	}
	m.read = max(m.read, read)
	return m.written-m.read < noticeCells
}
