package core

import (
	"fmt"
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

// all returns the lengths of all blocks, if they are Shared.
func (c *Counts) all() []int {
	if len(c.In) > len(c.Out) {
		return c.In
	}
	return c.Out
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
	h := uint64(14695981039346656037)
	for _, n := range c.all() {
		h = (h ^ uint64(n)) * 1099511628211
		h ^= h >> 29
	}
	return int(h)
}

// describe describes everything about o that ranks must agree on.
func (o *op) describe() string {
	if !o.counted() || !o.shared {
		return o.plan.Words(o.key)
	}
	at := o.memory.areas[areaOut].at
	if in := o.memory.areas[areaIn].at; len(in) > len(at) {
		at = in
	}
	return o.plan.wordsOf(" of blocks of " + lengthWords(at, o.unit))
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
	if !o.counted() || o.shared {
		ops.fate.violation(h, "%v has %d bytes, want %d", slots{h.Slot, n}, h.Len, want)
		return
	}
	if ops.fate.dispute.IsOpen() {
		return
	}
	what, element, unit := "a block", o.unit, unitWord(o.unit)
	if per := o.plan.places.per; n%per != 0 || h.Len%element != 0 {
		what, element, unit = fmt.Sprintf("a part of a block, one of %d,", per), 1, "bytes"
	}
	ops.fate.propose(h.From, fmt.Sprintf("operation %d, %s: rank %d sends rank %d %s of %d %s, but rank %d expects %d",
		o.seq, o.plan.Name, h.From, ops.Rank, what, h.Len/element, unit, ops.Rank, want/element))
}
