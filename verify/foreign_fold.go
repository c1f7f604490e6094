package verify

import (
	"cmp"
	"fmt"

	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/ir"
)

// folding holds the terms of cells in a collective that folds. The values of cells number terms,
// from cellFolded downwards. Foreign forms do not say which operand of a fold is on the left. So
// terms are compared as if that did not matter: the lower of the two operands is on the left.
type folding struct {
	*forest
	all    []term
	number map[term]int32
}

func (f *folding) value(x term) int32 {
	if v, ok := f.number[x]; ok {
		return v
	}
	v := cellFolded - int32(len(f.all))
	f.all = append(f.all, x)
	f.number[x] = v
	return v
}

// termOf returns the term with the number value. ok is false if value is not the number of a term.
func (f *folding) termOf(value int32) (x term, ok bool) {
	if value > cellFolded {
		return term{}, false
	}
	return f.all[cellFolded-value], true
}

// inputPart returns the value of a cell of a rank's input at first.
func (c *contents) inputPart(rank, cell int) int32 {
	at := cell - c.Cells.Input[rank].From
	if at < 0 || at >= c.header.InputChunks() || at >= c.Cells.Input[rank].Len {
		return cellEmpty
	}
	return c.folds.value(c.folds.contribution(rank, at))
}

// fold returns the result of an operation that folds two values.
func (c *contents) fold(ref dag.Ref, a, b int32) (int32, error) {
	x, xOK := c.folds.termOf(a)
	y, yOK := c.folds.termOf(b)
	switch {
	case !xOK || !yOK:
		return cellMixed, nil
	case x.part != y.part:
		return 0, fail([]int{ref.Rank}, nil, nil, "%s folds %s and %s, which do not belong to one part of the vector",
			c.Tell(ref), c.spellValue(a), c.spellValue(b))
	case cmp.Or(x.node-y.node, x.shift-y.shift) > 0:
		x, y = y, x
	}
	return c.folds.value(c.folds.fold(x, y)), nil
}

// spellTerm describes a term.
func (c *contents) spellTerm(x term) string {
	if x.node == rankNode {
		return fmt.Sprintf("part %d of rank %d's contribution", x.part, x.shift)
	}
	return fmt.Sprintf("%s of part %d", c.folds.spell(x.tree()), x.part)
}

// result returns the term at the place of a chunk that a rank wants. ok is false if the value there
// is not a term.
func (c *contents) result(rank, k int) (x term, ok bool) {
	wanted, result := c.header.Wanted(rank), c.Cells.Result[rank]
	place := wanted.Place(k)
	if place < 0 || place >= result.Len {
		return term{}, false
	}
	return c.folds.termOf(c.last(rank, result.From+place))
}

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
	v := &values{forest: c.folds.forest, first: make(map[int]made)}
	for rank := range c.Ranks {
		for k := range c.header.Wanted(rank).All() {
			x, _ := c.result(rank, k)
			v.add(rank, ir.Chunk(k), x)
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
