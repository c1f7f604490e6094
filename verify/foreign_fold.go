package verify

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir/dag"
	"github.com/schedgen/schedgen/ir/term"
)

// folded is what a cell holds that contributions have been folded into: the part of the
// contributions, and the term. The forms of others do not say which operand of a fold is on the left,
// so terms are told apart as if it did not matter.
type folded struct {
	part int32
	term term.Term
}

// folding are the contents of cells of a collective that folds. The values of cells number them, from
// cellFolded downwards.
type folding struct {
	terms  term.Table
	all    []folded
	number map[folded]int32
}

func (f *folding) value(x folded) int32 {
	if v, ok := f.number[x]; ok {
		return v
	}
	if f.number == nil {
		f.number = make(map[folded]int32)
	}
	v := cellFolded - int32(len(f.all))
	f.all = append(f.all, x)
	f.number[x] = v
	return v
}

// of returns what a value is of; ok is false if it is something else.
func (f *folding) of(value int32) (x folded, ok bool) {
	if value > cellFolded {
		return folded{}, false
	}
	return f.all[cellFolded-value], true
}

// inputPart returns what a cell of the input of a rank holds at first.
func (c *contents) inputPart(rank, cell int) int32 {
	at := cell - c.Cells.Input[rank].From
	if at < 0 || at >= c.header.InputChunks() || at >= c.Cells.Input[rank].Len {
		return cellEmpty
	}
	return c.folds.value(folded{int32(at), c.folds.terms.Of(rank)})
}

// fold returns the result of folding two values, which an operation does.
func (c *contents) fold(ref dag.Ref, a, b int32) (int32, error) {
	x, xOK := c.folds.of(a)
	y, yOK := c.folds.of(b)
	switch {
	case !xOK || !yOK:
		return cellMixed, nil
	case x.part != y.part:
		return 0, fail([]int{ref.Rank}, nil, nil, "%s folds %s and %s, which do not belong to one part of the vector",
			c.Tell(ref), c.spellValue(a), c.spellValue(b))
	case y.term < x.term:
		x, y = y, x
	}
	return c.folds.value(folded{x.part, c.folds.terms.Fold(x.term, y.term)}), nil
}

// maxTermText is how much of a term a failure spells.
const maxTermText = 120

// spellFolded tells what has been folded.
func (c *contents) spellFolded(x folded) string {
	if rank := c.folds.terms.Rank(x.term); rank >= 0 {
		return fmt.Sprintf("part %d of rank %d's contribution", x.part, rank)
	}
	return fmt.Sprintf("%s of part %d", c.folds.terms.Text(x.term, maxTermText), x.part)
}

// result returns what a rank has at the place of a chunk that it wants; ok is false if it is nothing
// that has been folded.
func (c *contents) result(rank, k int) (x folded, ok bool) {
	wanted, result := c.header.Wanted(rank), c.Cells.Result[rank]
	place := wanted.Place(k)
	if place < 0 || place >= result.Len {
		return folded{}, false
	}
	return c.folds.of(c.last(rank, result.From+place))
}

// proveContributes finds a result in which a contribution is missing or counts twice.
func (f *foreign) proveContributes() (string, error) {
	c := f.contents
	seen := make(map[term.Term]bool)
	for rank := range f.Ranks {
		wanted := f.header.Wanted(rank)
		for k := range wanted.All() {
			x, _ := c.result(rank, k) // coverage has looked at it
			if len(f.Ranks) == f.header.FoldedRanks(k) {
				if seen[x.term] {
					continue
				}
				seen[x.term] = true
			}
			if err := c.contributes(rank, k, x); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}

// contributes fails unless the term has the contributions of chunk k, each once.
func (c *contents) contributes(rank, k int, x folded) error {
	has := make([]bool, len(c.Ranks))
	twice := -1
	todo := []term.Term{x.term}
	for len(todo) > 0 && twice < 0 {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if left, right, ok := c.folds.terms.Parts(last); ok {
			todo = append(todo, right, left)
			continue
		}
		from := c.folds.terms.Rank(last)
		if has[from] {
			twice = from
		}
		has[from] = true
	}
	want := c.header.FoldedRanks(k)
	missing := slices.Index(has[:want], false)
	extra := slices.Index(has[want:], true)
	why := ""
	switch {
	case twice >= 0:
		why = fmt.Sprintf("counts the contribution of rank %d twice", twice)
	case missing >= 0:
		why = fmt.Sprintf("lacks the contribution of rank %d", missing)
	case extra >= 0:
		why = fmt.Sprintf("has the contribution of rank %d, which does not belong there", want+extra)
	default:
		return nil
	}
	cell := c.Cells.Result[rank].From
	wanted := c.header.Wanted(rank)
	return fail([]int{rank}, nil, nil, "%s of rank %d %s: it is %s",
		c.Cells.Spell(rank, cell+wanted.Place(k)), rank, why, c.spellFolded(x))
}

// proveSameTree finds two ranks whose results of one chunk are folded in different ways: they may
// differ in their last bits. The note says whether the contributions are in the order of the ranks,
// as operations that do not commute need it, or could be if the form said which operand is on the
// left.
func (f *foreign) proveSameTree() (string, error) {
	c := f.contents
	type first struct {
		rank int
		x    folded
	}
	by := make([]first, f.header.Chunks)
	ordered := newRankOrder(&c.folds.terms)
	inOrder := true
	for rank := range f.Ranks {
		wanted := f.header.Wanted(rank)
		for k := range wanted.All() {
			x, _ := c.result(rank, k)
			inOrder = inOrder && ordered.is(x.term)
			switch was := by[k]; {
			case was.x.term == 0:
				by[k] = first{rank, x}
			case was.x.term != x.term:
				return "", fail([]int{was.rank, rank}, nil, nil, "ranks %d and %d fold chunk %d in different ways, so that they may differ: %s and %s",
					was.rank, rank, k, c.folds.terms.Text(was.x.term, maxTermText), c.folds.terms.Text(x.term, maxTermText))
			}
		}
	}
	if inOrder {
		return "contributions can be in the order of the ranks; which operand is on the left the form does not say", nil
	}
	return "commutative operations only", nil
}

// rankOrder finds out whether contributions that are folded are neighbours, so that each fold can have
// those of lower ranks on the left.
type rankOrder struct {
	terms *term.Table
	spans map[term.Term][2]int // lowest and highest rank; lowest -1: they are no neighbours
}

func newRankOrder(t *term.Table) *rankOrder {
	return &rankOrder{t, make(map[term.Term][2]int)}
}

func (o *rankOrder) is(x term.Term) bool { return o.span(x)[0] >= 0 }

func (o *rankOrder) span(x term.Term) [2]int {
	if s, ok := o.spans[x]; ok {
		return s
	}
	var s [2]int
	if left, right, ok := o.terms.Parts(x); ok {
		a, b := o.span(left), o.span(right)
		if a[0] > b[0] {
			a, b = b, a
		}
		s = [2]int{a[0], b[1]}
		if a[0] < 0 || a[1] >= b[0] {
			s[0] = -1
		}
	} else {
		s = [2]int{o.terms.Rank(x), o.terms.Rank(x)}
	}
	o.spans[x] = s
	return s
}

// inputsOf returns how many blocks a rank has in its input: those that it holds, or its contribution.
func (f *foreign) inputsOf(rank int) int {
	if row := f.header.Row(); row.Inputs != nil {
		return row.Inputs(f.header.Ranks)
	}
	return f.held(rank).Count
}

