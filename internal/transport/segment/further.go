//go:build linux

package segment

import (
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Further communicators have lanes of their own for their operations, at the end of the segment's
// file, which has no memory there before the first put. The sender then asks for the memory of its
// lane, maps the part of the communicator, and sets the communicator's bit in the line of the first
// communicator's lane. Only then does the receiver map the part too, and look there. It stops when
// the communicator is closed. When the number is used again, the lane continues.

// comms is the greatest number of communicators at a time.
const comms = 256

// annex holds the mapped parts of the segment's end, by communicator.
type annex [comms]segment

func (a *annex) unmap() (err error) {
	for _, part := range a {
		if part.mem != nil {
			err = errors.Join(err, part.unmap())
		}
	}
	return err
}

// lane returns the lane of a further communicator. It ensures that the lane has memory, so that no
// access can fail later.
func (a *annex) lane(s segment, from, to int, comm uint8) (*laneLine, rings, error) {
	part, offset := &a[comm], (to*s.size+from)*s.span
	if err := allocate(s.fd, s.partAt(comm)+int64(offset), int64(s.span)); err != nil {
		return nil, rings{}, fmt.Errorf("%d KiB of memory for communicator %d: %w", s.span>>10, comm, err)
	}
	if part.mem == nil {
		mem, err := unix.Mmap(s.fd, s.partAt(comm), s.part, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return nil, rings{}, fmt.Errorf("map %d KiB for communicator %d: %w", s.part>>10, comm, err)
		}
		*part = segment{s.layout, mem, -1}
	}
	return at[laneLine](*part, offset), part.rings(offset+lineSize, s.lanes[wire.LaneOps]), nil
}

// further holds the lanes of further communicators between this rank and a peer, by communicator,
// and lists the lanes in use.
type further struct {
	in     [comms]*inbound
	out    [comms]*outbound
	reads  []*inbound
	writes []*outbound
}

// lane returns the lane of f to p.
func (t *Transport) lane(p *peer, f *wire.Frame) (*outbound, error) {
	if f.Comm == 0 || f.Lane != wire.LaneOps {
		return &p.out[f.Lane], nil
	}
	m := p.extend()
	o := m.out[f.Comm]
	if o == nil {
		line, rings, err := t.annex.lane(t.segment, t.rank, p.rank, f.Comm)
		if err != nil {
			return nil, err
		}
		o = &outbound{line: line, rings: rings, comm: f.Comm}
		m.out[f.Comm] = o
	}
	o.ending = false
	if !o.open {
		o.open = true
		m.writes = append(m.writes, o)
		t.tellUse(p, o)
	}
	return o, nil
}

func (p *peer) extend() *further {
	if p.more == nil {
		p.more = &further{}
	}
	return p.more
}

// tellUse tells p whether o is in use.
func (t *Transport) tellUse(p *peer, o *outbound) {
	line := p.out[wire.LaneOps].line
	word, bit := &line.comms[o.comm/64], uint64(1)<<(o.comm%64)
	if o.open {
		atomic.OrUint64(word, bit)
	} else {
		atomic.AndUint64(word, ^bit)
	}
	atomic.AddUint32(&line.changes, 1)
	t.ring(p.rank)
}

// Forget implements [wire.Transport]. It keeps the memory for the next communicator with the same
// number.
func (t *Transport) Forget(comm uint8) {
	for rank := range t.peers {
		p := &t.peers[rank]
		if p.more == nil || p.gone || p.more.out[comm] == nil {
			continue
		}
		p.more.out[comm].ending = true
		t.flushFurther(p)
	}
}

// flushFurther writes queued frames for p in further communicators.
func (t *Transport) flushFurther(p *peer) (moved bool) {
	m := p.more
	kept := m.writes[:0]
	for _, o := range m.writes {
		if !o.idle() {
			moved = t.flushLane(p, o) || moved
		}
		if o.ending && t.drained(p, o) {
			o.open = false
			t.tellUse(p, o)
		} else {
			kept = append(kept, o)
		}
	}
	clear(m.writes[len(kept):])
	m.writes = kept
	return moved
}

// drained reports whether p has read all of o; if not, p rings when it has read something.
func (t *Transport) drained(p *peer, o *outbound) bool {
	for o.idle() {
		if err := o.refresh(); err != nil {
			t.loseLater(p, err)
			return false
		}
		if o.read == uint32(o.cells) {
			return true
		}
		if o.await() {
			return false
		}
	}
	return false
}

// heedChanges finds the further communicators that p has opened or closed; changes counts all these
// events so far.
func (t *Transport) heedChanges(p *peer, changes uint32) {
	line, m := p.in[wire.LaneOps].line, p.extend()
	p.changes = changes
	for _, l := range m.reads {
		l.ending = atomic.LoadUint64(&line.comms[l.comm/64])&(1<<(l.comm%64)) == 0
	}
	for i := range line.comms {
		for set := atomic.LoadUint64(&line.comms[i]); set != 0; set &= set - 1 {
			comm := uint8(i*64 + bits.TrailingZeros64(set))
			if err := t.listenTo(p, comm); err != nil {
				t.fault(err)
				return
			}
		}
	}
}

// listenTo makes this rank read a communicator's lane from p.
func (t *Transport) listenTo(p *peer, comm uint8) error {
	m := p.more
	l := m.in[comm]
	if l == nil {
		line, rings, err := t.annex.lane(t.segment, p.rank, t.rank, comm)
		if err != nil {
			return err
		}
		l = &inbound{line: line, rings: rings, comm: comm}
		l.head.Lane, l.head.From = wire.LaneOps, p.rank
		m.in[comm] = l
	}
	if !l.heard {
		l.heard, l.ending, t.listens = true, false, true
		m.reads = append(m.reads, l)
	}
	return nil
}

// readFurther reads p's puts in further communicators, and stops reading communicators that are
// closed.
func (t *Transport) readFurther(p *peer, s wire.Sink) (moved bool) {
	m := p.more
	kept := m.reads[:0]
	for _, l := range m.reads {
		moved = t.read(p, l, s) || moved
		if l.heard = !l.ending || l.waits() || l.open; l.heard {
			kept = append(kept, l)
		}
	}
	clear(m.reads[len(kept):])
	m.reads = kept
	return moved
}

// lookFurther is look for further communicators.
func (t *Transport) lookFurther() (set uint64) {
	for rank := range t.peers {
		if p := &t.peers[rank]; p.more != nil && p.more.waits() {
			set |= 1 << rank
		}
	}
	return set
}

// waits reports whether there is something to read.
func (m *further) waits() bool {
	for _, l := range m.reads {
		if l.waits() {
			return true
		}
	}
	return false
}

// held reports whether the sink holds a frame.
func (m *further) held() bool {
	for _, l := range m.reads {
		if l.held {
			return true
		}
	}
	return false
}

// eachIn calls f for the lanes from p.
func (p *peer) eachIn(f func(*inbound)) {
	for lane := range p.in {
		f(&p.in[lane])
	}
	if p.more != nil {
		for _, l := range p.more.reads {
			f(l)
		}
	}
}

// eachOut calls f for the lanes to p.
func (p *peer) eachOut(f func(*outbound)) {
	for lane := range p.out {
		f(&p.out[lane])
	}
	if p.more != nil {
		for _, o := range p.more.writes {
			f(o)
		}
	}
}
