package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Blocks may have lengths of their own, as in MPI's v-forms. The lengths change only where blocks
// lie, not the schedule. If all ranks know all lengths, the fingerprint covers them. Otherwise each
// rank knows the lengths of the blocks that it holds and wants, and compares them with the lengths
// of arriving frames. A rank then never relays a block that it neither holds nor wants, since it
// would have no place for it (see Plan.Counted).

// Counts are the lengths of the blocks of an operation, in elements.
type Counts struct {
	In, Out []int // elements of the blocks in Buffers.In and in Buffers.Out, in their order; none is negative
	Element int   // bytes of an element
	Shared  bool  // every rank knows the lengths of all blocks, since it holds or wants all
}

// key returns the number that stands for the lengths of the blocks in an operation's fingerprint.
func (b *Buffers) key() int {
	c := b.Counts
	switch {
	case c == nil:
		return b.Block
	case !c.Shared:
		return 0
	}
	all := c.Out
	if len(c.In) > len(all) {
		all = c.In
	}
	h := uint64(14695981039346656037)
	for _, n := range all {
		h = (h ^ uint64(n)) * 1099511628211
		h ^= h >> 29
	}
	return int(h)
}

// spans say where blocks with lengths of their own lie in the caller's buffers, or in their copies.
type spans struct {
	on      bool
	shared  bool
	element int
	in, out []int // the start of each block in bytes, and the end of the last one
	relayed []int // likewise, in a collective that folds: only there does a rank know their lengths
}

// set prepares s, and returns the bytes of the blocks that a rank with places pl relays.
func (s *spans) set(c *Counts, pl *places, folds bool) (relayed int) {
	s.shared, s.element = c.Shared, max(1, c.Element)
	s.in = offsets(s.in[:0], c.In, s.element)
	s.out = offsets(s.out[:0], c.Out, s.element)
	s.relayed = s.relayed[:0]
	if folds {
		for _, block := range pl.relayed {
			s.relayed = append(s.relayed, relayed)
			relayed += s.in[block+1] - s.in[block]
		}
	}
	s.relayed = append(s.relayed, relayed)
	return relayed
}

func offsets(at, counts []int, element int) []int {
	end := 0
	for _, n := range counts {
		at = append(at, end)
		end += n * element
	}
	return append(at, end)
}

// place is op.place for blocks with lengths of their own. A block that the rank neither holds nor
// wants has no bytes here.
func (s *spans) place(o *op, block int) (mem []byte, at, end int) {
	pl := &o.plan.places
	if i := pl.wanted.Index(block); i >= 0 {
		return o.mem.Out, s.out[i], s.out[i+1]
	}
	if i := pl.held.Index(block); i >= 0 {
		return o.mem.In, s.in[pl.inputs+i], s.in[pl.inputs+i+1]
	}
	if i, found := slices.BinarySearch(pl.relayed, block); found && o.plan.folds {
		return o.relayed, s.relayed[i], s.relayed[i+1]
	}
	return nil, 0, 0
}

// lengthFrom is op.lengthFrom for blocks with lengths of their own.
func (s *spans) lengthFrom(o *op, first, n int) (bytes int) {
	per := o.plan.places.per
	for k := first; k < first+n; {
		_, at, end := s.place(o, k/per)
		last := min(first+n, (k/per+1)*per) - 1
		lo, _ := o.bounds(end-at, k%per)
		_, hi := o.bounds(end-at, last%per)
		bytes += hi - lo
		k = last + 1
	}
	return bytes
}

// describe describes everything about o that ranks must agree on.
func (o *op) describe() string {
	if !o.spans.on || !o.spans.shared {
		return o.plan.Words(o.key)
	}
	at := o.spans.out
	if len(o.spans.in) > len(at) {
		at = o.spans.in
	}
	return o.plan.wordsOf(" of blocks of " + lengthWords(at, o.spans.element))
}

// lengthWords lists the lengths of blocks with the offsets at. Equal lengths in a row appear once.
func lengthWords(at []int, element int) string {
	var b strings.Builder
	for i := 0; i+1 < len(at); {
		n, same := at[i+1]-at[i], 1
		for i+same+1 < len(at) && at[i+same+1]-at[i+same] == n {
			same++
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if same > 1 {
			fmt.Fprintf(&b, "%d times ", same)
		}
		fmt.Fprint(&b, n/element)
		i += same
	}
	return b.String() + " " + unitWord(element)
}

func unitWord(element int) string {
	if element == 1 {
		return "bytes"
	}
	return "elements"
}

// misfit fails the core because a frame of n chunks has another length than the chunks have here.
// If ranks know only the lengths of their own blocks, sender and receiver disagree on a length.
func (ops *operations) misfit(o *op, h *wire.Header, n, want int) {
	if !o.spans.on || o.spans.shared {
		ops.fate.violation(h, "%d slots from %v on have %d bytes, want %d", n, h.Slot, h.Len, want)
		return
	}
	if ops.fate.dispute.IsOpen() {
		return
	}
	what, element, unit := "a block", o.spans.element, unitWord(o.spans.element)
	if per := o.plan.places.per; n%per != 0 || h.Len%element != 0 {
		what, element, unit = fmt.Sprintf("a part of a block, one of %d,", per), 1, "bytes"
	}
	ops.fate.propose(h.From, fmt.Sprintf("operation %d, %s: rank %d sends rank %d %s of %d %s, but rank %d expects %d",
		o.seq, o.plan.Name, h.From, ops.Rank, what, h.Len/element, unit, ops.Rank, want/element))
}
