package verify

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// contents are the terms of what is in the memory of the ranks, if the file says what messages
// carry. Files do not say which operand of a fold is on the left.
type contents struct {
	*foreign
	*dag.Contents
	sub *subject
}

func (f *foreign) proveContents() (string, error) {
	if err := f.proveInputs(); err != nil {
		return "", err
	}
	all, err := dag.NewContents(f.run, f.header, f.first)
	if err != nil {
		return "", err
	}
	system, err := fixpoint.NewSystem(all.Schedule)
	if err != nil {
		return "", err
	}
	f.contents = &contents{foreign: f, Contents: all, sub: subjectOf(all.Schedule, system)}
	f.contents.sub.unordered = true
	if err := f.contents.proveParts(); err != nil {
		return "", err
	}
	return f.contents.judge()
}

// first returns the slot in a cell of a rank at first.
func (f *foreign) first(rank, cell int) ir.Slot {
	at := cell - f.Cells.Input[rank].From
	switch held := f.header.Held(rank); {
	case at < 0:
	case f.header.Folds() && at < min(f.header.InputChunks(), f.Cells.Input[rank].Len):
		return ir.Input(at)
	case !f.header.Folds() && at < held.Len():
		return ir.Chunk(held.At(at/held.Per)*held.Per + at%held.Per)
	}
	return ir.None
}

// proveInputs finds ranks whose inputs are not as long as the blocks that they hold.
func (f *foreign) proveInputs() error {
	per := f.blockCells()
	for rank := range f.Ranks {
		count, in := f.inputsOf(rank), f.Cells.Input[rank].Len
		switch {
		case count == 0 || per > 0 && in == count*per:
		case in == 0 && f.header.Rooted():
			return fail([]int{rank}, nil, nil, "rank %d, the root, has no input", rank)
		case in == 0:
			return fail([]int{rank}, nil, nil, "rank %d has no input", rank)
		default:
			return fail([]int{rank}, nil, nil, "rank %d has an input of %d chunks, which are not %s of %s",
				rank, in, plural(count, "a block", fmt.Sprint(count, " blocks")), plural(max(per, 1), "one chunk", fmt.Sprint(max(per, 1), " chunks")))
		}
	}
	return nil
}

// proveParts finds folds of contributions that do not belong to one part of the vector.
func (c *contents) proveParts() error {
	for _, fold := range c.Folds {
		x, y := c.term(fold.Op.Rank, fold.A), c.term(fold.Op.Rank, fold.B)
		if c.header.Folds() && x.part != y.part {
			return fail([]int{fold.Op.Rank}, nil, nil, "%s folds %s and %s, which do not belong to one part of the vector",
				c.Tell(fold.Op), c.spellTerm(x), c.spellTerm(y))
		}
	}
	return nil
}

// term returns the term of a slot of rank. For ir.None it has no node.
func (c *contents) term(rank int, s ir.Slot) term {
	if s == ir.None {
		return term{node: noNode}
	}
	return c.sub.values().read(c.sub, rank, s)
}

// judge examines what the ranks have at the end.
func (c *contents) judge() (string, error) {
	var missed []int
	why := ""
	own, whyOwn := -1, ""
	for rank := range c.Ranks {
		place, chunk := c.lacks(rank)
		switch {
		case place < 0:
		case c.header.Holds(rank, chunk):
			if own < 0 {
				own, whyOwn = rank, c.tellLack(rank, place, chunk)
			}
		default:
			if missed = append(missed, rank); len(missed) == 1 {
				why = c.tellLack(rank, place, chunk)
			}
		}
	}
	switch h := &c.header; {
	case len(missed) > 0 && h.Folds():
		return "", fail(missed, nil, nil, "%s never %s the result: %s", spellRanks(missed), plural(len(missed), "gets", "get"), why)
	case len(missed) > 0 && h.Blocks() == 1:
		return "", fail(missed, nil, nil, "%s never %s the message of rank %d: %s",
			spellRanks(missed), plural(len(missed), "gets", "get"), h.Root, why)
	case len(missed) > 0:
		return "", fail(missed, nil, nil, "%s never %s all that %s wants: %s",
			spellRanks(missed), plural(len(missed), "gets", "get"), plural(len(missed), "it", "each"), why)
	case own >= 0 && h.Blocks() == 1:
		return "", fail([]int{own}, nil, nil, "rank %d, the root, does not copy its message into its own output, which is not its input: %s", own, whyOwn)
	case own >= 0:
		return "", fail([]int{own}, nil, nil, "rank %d does not copy its own block into its output: %s", own, whyOwn)
	}
	return "", nil
}

// lacks returns a chunk that the rank wants and that is not at its place at the end, and the index
// of that place among the wanted chunks. place is -1 if there is none. A chunk that must come from
// another rank goes first.
func (c *contents) lacks(rank int) (place, chunk int) {
	held, wanted, result := c.header.Held(rank), c.header.Wanted(rank), c.Cells.Result[rank]
	place = -1
	i := -1
	for k := range wanted.All() {
		if i++; i < result.Len {
			if x := c.term(rank, c.Last(rank, result.From+i)); x.node != noNode && x.part == partOf(&c.header, ir.Chunk(k)) && (c.header.Folds() || x.node == givenNode) {
				continue
			}
		}
		if !held.Has(k) {
			return i, k
		}
		if place < 0 {
			place, chunk = i, k
		}
	}
	return place, chunk
}

// tellLack says what is in the place of a chunk.
func (c *contents) tellLack(rank, place, chunk int) string {
	result, wanted := c.Cells.Result[rank], c.header.Wanted(rank)
	if place >= result.Len {
		return fmt.Sprintf("rank %d has room for %d of %d chunks", rank, result.Len, wanted.Len())
	}
	cell := result.From + place
	return fmt.Sprintf("%s of rank %d holds %s at the end, not %s",
		c.Cells.Spell(rank, cell), rank, c.spellTerm(c.term(rank, c.Last(rank, cell))), c.spellChunk(chunk))
}

// spellChunk describes a chunk. If there are several blocks, it names the chunk by its place in the
// input of the rank from which it comes.
func (c *contents) spellChunk(k int) string {
	switch {
	case c.header.Folds():
		return fmt.Sprintf("part %d of the result", c.header.InputOf(k))
	case c.header.Blocks() == 1:
		return fmt.Sprintf("chunk %d", k)
	}
	for rank := range c.Ranks {
		if at := c.header.Held(rank); at.Has(k) {
			return fmt.Sprintf("%s of rank %d", c.Cells.Spell(rank, c.Cells.Input[rank].From+at.Place(k)), rank)
		}
	}
	return fmt.Sprintf("chunk %d, which nobody holds at first", k)
}

// spellTerm describes a term.
func (c *contents) spellTerm(x term) string {
	switch {
	case x.node == noNode:
		return "nothing"
	case x.node == givenNode:
		return c.spellChunk(givenChunk(x.part))
	case !c.header.Folds():
		return "the result of a reduction"
	case x.node == rankNode:
		return fmt.Sprintf("part %d of rank %d's contribution", x.part, x.shift)
	}
	return fmt.Sprintf("%s of part %d", c.sub.values().spell(x.tree()), x.part)
}
