package runtime

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
)

// Blocks with lengths of their own, as in MPI's v-forms. Lengths change where blocks lie, not the
// schedule; see [Call].

// checkCounts checks the counts of a call and returns the elements of the longest block.
func checkCounts(call *Call, element int, wanted, held ir.Blocks) (longest int, err error) {
	dst, err := checkSum("dst", len(call.Dst)/element, call.DstCounts, wanted.Count)
	if err != nil {
		return 0, err
	}
	src, err := checkSum("src", len(call.Src)/element, call.SrcCounts, held.Count)
	if err != nil {
		return 0, err
	}
	own := 0 // where the rank's one block begins in dst
	for i := range held.Count {
		at := wanted.Index(held.At(i))
		if at < 0 {
			continue
		}
		in, out := countAt(call.SrcCounts, i, src), countAt(call.DstCounts, at, dst)
		if in != out {
			return 0, fmt.Errorf("the block of this rank for itself has %d elements in src and %d in dst", in, out)
		}
		if held.Count == 1 {
			for _, n := range call.DstCounts[:min(at, len(call.DstCounts))] {
				own += n * element
			}
		}
	}
	return max(dst, src), checkOverlap(call.Dst, call.Src, own, wanted, held)
}

// countAt returns the elements of block i, or one if there are no counts.
func countAt(counts []int, i, one int) int {
	if counts == nil {
		return one
	}
	return counts[i]
}

// checkSum checks the counts of a buffer of n elements and the given number of blocks, and returns
// the greatest count.
func checkSum(buffer string, n int, counts []int, blocks int) (longest int, err error) {
	switch {
	case counts == nil && blocks == 1:
		return n, nil
	case blocks == 0 && n > 0:
		return 0, fmt.Errorf("%s has %d elements, but this rank has no block there", buffer, n)
	case len(counts) != blocks:
		return 0, fmt.Errorf("%s has %d counts, want one for each of %d blocks", buffer, len(counts), blocks)
	}
	left := n
	for i, count := range counts {
		switch {
		case count < 0:
			return 0, fmt.Errorf("count %d of %s is %d", i, buffer, count)
		case count > n:
			return 0, fmt.Errorf("%s has %d elements, but its count %d is %d", buffer, n, i, count)
		case count > left:
			return 0, fmt.Errorf("%s has %d elements, but its counts 0 … %d alone add up to %d more", buffer, n, i, count-left)
		}
		left -= count
		longest = max(longest, count)
	}
	if left > 0 {
		return 0, fmt.Errorf("%s has %d elements, but its counts add up to %d", buffer, n, n-left)
	}
	return longest, nil
}

// lengths are the counts of a call whose blocks have lengths of their own.
type lengths struct {
	core.Counts
	single [2]int // the counts of buffers with a single block
}

// set takes the counts of a call, and points mem to them.
func (l *lengths) set(mem *core.Buffers, call *Call, shared bool) {
	element := max(1, call.Element)
	if call.Fold != nil {
		element = call.Fold.Element
	}
	l.single = [2]int{len(call.Src) / element, len(call.Dst) / element}
	l.Counts = core.Counts{In: call.SrcCounts, Out: call.DstCounts, Element: element, Shared: shared}
	if l.In == nil {
		l.In = l.single[:1]
	}
	if l.Out == nil {
		l.Out = l.single[1:]
	}
	mem.Counts = &l.Counts
}

// longBlock is the block length in bytes for which the rules choose when not all ranks know the
// lengths.
const longBlock = 1 << 20

// chooseDirect returns the plan of an operation whose ranks know only the lengths of their own
// blocks. The plan relays no blocks. All ranks choose the same plan, from facts that all know.
func (c *Comm) chooseDirect(k kind, root int) (*plan, error) {
	row := c.plans.row(k)
	ch, err := c.chosen(row.Name, longBlock, false)
	if err != nil {
		return nil, err
	}
	key := planKey{algorithm: ch.Algorithm, root: root, chunks: max(1, c.cfg.Algorithms[row.Name].Params.Chunks)}
	p, err := c.plans.get(key)
	switch {
	case err != nil:
		return nil, err
	case !p.relays():
		return p, nil
	case c.cfg.Algorithms[row.Name].Name != "":
		return nil, c.relayed(k, p)
	}
	for _, a := range c.cfg.source.algorithms() {
		if a.Collective != row.Name {
			continue
		}
		key.algorithm = Algorithm{Name: a.Name}
		if p, err = c.plans.get(key); err != nil || !p.relays() {
			return p, err
		}
	}
	return nil, c.relayed(k, p)
}

// relayed is the error of a call whose blocks have lengths of their own, under a plan that relays
// blocks.
func (c *Comm) relayed(k kind, p *plan) error {
	return fmt.Errorf("%w: %sv: in %s ranks pass on blocks whose lengths they do not know", ErrInput, c.plans.row(k).Name, p.Name)
}
