package rdma

import (
	"slices"
	"unsafe"

	"github.com/schedgen/schedgen/runtime/wire"
)

// A flag is written into the window of its receiver with immediate data. The receiver finds it by a
// load as soon as it is placed. The completion wakes a sleeping receiver, and is otherwise taken
// with others later, so the sender need not know whether the receiver sleeps. Adapters guarantee no
// order in which the words of a write are placed before the write completes, so a line is sealed;
// the bytes of an aligned word are placed together.

// flagged is a flag that waits to be written.
type flagged struct {
	line int
	flag wire.Flag
}

// Windows implements [wire.Transport].
func (t *Transport) Windows() wire.Windows { return t }

// Window implements [wire.Windows]. Other ranks can write there, and cannot read.
func (t *Transport) Window(rank int) []wire.Line {
	if rank != t.rank {
		return nil
	}
	return unsafe.Slice(lineAt(t.own.Memory, t.plan.line(0)), wire.WindowLines)
}

// lineAt returns the line at an offset of registered memory.
func lineAt(memory []byte, at int) *wire.Line {
	return (*wire.Line)(unsafe.Pointer(unsafe.SliceData(memory[at : at+lineLen])))
}

// Reaches implements [wire.Windows].
func (t *Transport) Reaches(rank int) bool { return rank != t.rank && rank >= 0 && rank < t.size }

// Flag implements [wire.Windows]. Flags wait for places of the receiver as messages do. A line is
// written again only after its flag has been seen, so no two flags wait for one line.
func (t *Transport) Flag(to, line int, f wire.Flag) {
	t.Open(to)
	p := &t.peers[to]
	if t.closed || p.end.how != 0 {
		return
	}
	if i := slices.IndexFunc(p.flags, func(w flagged) bool { return w.line == line }); i >= 0 {
		p.flags[i].flag = f
		return
	}
	p.flags = append(p.flags, flagged{line, f})
	t.touch(p)
}

// Post implements [wire.Windows]. It does nothing, because nobody could read the flag.
func (t *Transport) Post(int, []int, wire.Flag) {}

// writeFlag posts the first flag that waits for p.
func (t *Transport) writeFlag(p *pair) {
	w, at, peer := p.flags[0], t.slot(p), &t.way.cards[p.rank]
	p.flags = append(p.flags[:0], p.flags[1:]...)
	l := lineAt(p.link.region.Memory, at)
	l.Write(w.flag)
	l.Seal()
	t.stats.Flags++
	t.spend(p, at, Work{
		Len: wire.SealedLen, Immediate: p.credit.word(true), Remote: peer.base + uint64(t.plan.line(w.line)), Key: peer.key,
	})
}
