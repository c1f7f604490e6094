package verify

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

// proveContributes is the check contributes of what is in the places of the results at the end.
func (f *foreign) proveContributes() (string, error) {
	return "", f.contents.inFile(f.contents.results().contributed(&f.header))
}

// proveSameTree is the check same-tree. The note says whether the contributions are in the order of the
// ranks, as operations that do not commute require, or could be if the form said which operand is on
// the left.
func (f *foreign) proveSameTree() (string, error) {
	v := f.contents.results()
	if err := v.sameTree(); err != nil {
		return "", f.contents.inFile(err)
	}
	for _, m := range v.first {
		if !v.spanOf(m.tree(), make(map[tree]span)).ok {
			return "commutative operations only", nil
		}
	}
	return "contributions can be in the order of the ranks; which operand is on the left the form does not say", nil
}

// results returns the terms of the results. The check coverage must hold.
func (c *contents) results() *values {
	v := &values{forest: c.sub.values().forest, first: make(map[int]made)}
	for rank := range c.Ranks {
		i := 0
		for k := range c.header.Wanted(rank).All() {
			v.add(rank, ir.Chunk(k), c.term(rank, c.Last(rank, c.Cells.Result[rank].From+i)))
			i++
		}
	}
	v.sort()
	return v
}

// inFile adds to a failure which cells of the file its chunks are.
func (c *contents) inFile(err error) error {
	return inFile(err, func(p Place) string {
		at := c.Cells.Result[p.Rank].From + c.header.Wanted(p.Rank).Place(p.Slot.Index())
		return fmt.Sprintf("%v is %s", p, c.Cells.Spell(p.Rank, at))
	})
}

// span is the range of ranks in a tree.
type span struct {
	low, high int32
	ok        bool // in each fold, all ranks of one operand are below all ranks of the other
}

// spanOf returns the span of t. It is ok if the leaves of t are in the order of their ranks after
// swapping operands of its folds as needed. known holds the spans of trees that were computed
// before.
func (f *forest) spanOf(t tree, known map[tree]span) span {
	if s, ok := known[t]; ok {
		return s
	}
	s := span{t.shift, t.shift, true}
	if left, right, ok := f.children(t); ok {
		a, b := f.spanOf(left, known), f.spanOf(right, known)
		if a.low > b.low {
			a, b = b, a
		}
		s = span{a.low, max(a.high, b.high), a.ok && b.ok && a.high < b.low}
	}
	known[t] = s
	return s
}

// inputsOf returns how many blocks a rank has in its input: the blocks that it holds, or the blocks
// of its contribution.
func (f *foreign) inputsOf(rank int) int {
	if row := f.header.Row(); row.Inputs != nil {
		return row.Inputs(f.header.Ranks)
	}
	return f.held(rank).Count
}
