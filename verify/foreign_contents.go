package verify

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/foreign/dag"
)

// The value of a cell, if it is not a chunk of the operation (≥ 0).
const (
	cellEmpty = int32(-1) // nothing yet
	cellMixed = int32(-2) // the result of a computation

	// this and all lower values: a fold of contributions, or a single contribution
	cellFolded = int32(-3)
)

// spellValue describes the value of a cell. If there are several blocks, it names a chunk by its
// place in the input of the rank from which it comes.
func (c *contents) spellValue(v int32) string {
	switch {
	case v == cellEmpty:
		return "nothing"
	case v == cellMixed:
		return "the result of a reduction"
	case v <= cellFolded:
		return c.spellTerm(c.folds.all[cellFolded-v])
	case c.header.Folds():
		return fmt.Sprintf("part %d of the result", c.header.InputOf(int(v)))
	case c.header.Blocks() == 1:
		return fmt.Sprintf("chunk %d", v)
	}
	for rank := range c.Ranks {
		if at := c.header.Held(rank); at.Has(int(v)) {
			return fmt.Sprintf("%s of rank %d", c.Cells.Spell(rank, c.Cells.Input[rank].From+at.Place(int(v))), rank)
		}
	}
	return fmt.Sprintf("chunk %d, which nobody holds at first", v)
}

// contents follows the chunks of an operation through the memory of the ranks. A read sees a write
// only if the rank itself orders the write before it.
type contents struct {
	*foreign
	walk    *dag.Walker
	writes  []map[int][]write // by rank and cell, in the order of the run
	carried [][]int32         // by operation: what it sends, or leaves to the send behind it
	folds   folding
}

// write is a write of one operation to a cell.
type write struct {
	op    int   // index in its rank
	value int32 // known once the operation has been run
}

func (f *foreign) proveContents() (string, error) {
	if err := f.proveInputs(); err != nil {
		return "", err
	}
	c := &contents{foreign: f, walk: dag.NewWalker(f.Graph), writes: make([]map[int][]write, len(f.Ranks)), carried: make([][]int32, f.index.Len())}
	f.contents = c
	c.folds = folding{forest: newForest(f.header.Ranks), number: make(map[term]int32)}
	for rank := range c.writes {
		c.writes[rank] = make(map[int][]write)
	}
	for _, id := range f.run.Order {
		if err := c.addWrites(int(id)); err != nil {
			return "", err
		}
	}
	for _, id := range f.run.Order {
		if err := c.step(int(id)); err != nil {
			return "", err
		}
	}
	return c.judge()
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

// addWrites lists the writes of an operation. The rank must order all writes of one cell.
func (c *contents) addWrites(id int) error {
	ref, op := c.op(id)
	for cell := op.Write.From; cell < op.Write.From+op.Write.Len; cell++ {
		list := c.writes[ref.Rank][cell]
		if n := len(list); n > 0 {
			last := list[n-1].op
			ordered, err := c.walk.After(ref.Rank, ref.I, last)
			if err != nil {
				return err
			}
			if !ordered {
				return fail([]int{ref.Rank}, nil, nil, "%s and %s both write %s and nothing orders them",
					c.Tell(dag.Ref{Rank: ref.Rank, I: last}), c.TellOp(ref), c.Cells.Spell(ref.Rank, cell))
			}
		}
		c.writes[ref.Rank][cell] = append(list, write{op: ref.I})
	}
	return nil
}

// step applies an operation to the memory.
func (c *contents) step(id int) error {
	ref, op := c.op(id)
	values := make([]int32, op.Read.Len)
	for i := range values {
		var err error
		if values[i], err = c.read(ref, op.Read.From+i); err != nil {
			return err
		}
	}
	switch {
	case op.Kind == dag.Recv && !op.Mix:
		values = c.carried[c.mates[id]]
		c.carried[c.mates[id]] = nil
	case op.Kind == dag.Recv:
		came := c.carried[c.mates[id]]
		c.carried[c.mates[id]] = nil
		for i := range values {
			var err error
			if values[i], err = c.fold(ref, values[i], came[i]); err != nil {
				return err
			}
		}
		c.carried[id] = values
	case op.Kind == dag.Send && op.Mix:
		values = c.carried[id-1] // of the receive before it
		c.carried[id-1] = nil
	case op.Mix:
		for i := range values {
			onto, err := c.read(ref, op.Write.From+i)
			if err != nil {
				return err
			}
			if values[i], err = c.fold(ref, onto, values[i]); err != nil {
				return err
			}
		}
	}
	if op.Kind == dag.Send {
		c.carried[id] = values
		return nil
	}
	for i := range op.Write.Len {
		list := c.writes[ref.Rank][op.Write.From+i]
		for j := range list {
			if list[j].op == ref.I {
				list[j].value = values[i]
			}
		}
	}
	return nil
}

// initial returns the value of a cell at first.
func (c *contents) initial(rank, cell int) int32 {
	if c.header.Folds() {
		return c.inputPart(rank, cell)
	}
	held, at := c.header.Held(rank), cell-c.Cells.Input[rank].From
	if at < 0 || at >= held.Len() {
		return cellEmpty
	}
	return int32(held.At(at/held.Per)*held.Per + at%held.Per)
}

// read returns the value of a cell when the operation starts. Every operation that writes the cell
// must end before it or start after it.
func (c *contents) read(ref dag.Ref, cell int) (int32, error) {
	value := c.initial(ref.Rank, cell)
	for _, w := range c.writes[ref.Rank][cell] {
		before, err := c.walk.After(ref.Rank, ref.I, w.op)
		if err != nil {
			return 0, err
		}
		if before {
			value = w.value
			continue
		}
		after, err := c.walk.After(ref.Rank, w.op, ref.I)
		if err != nil {
			return 0, err
		}
		if !after && w.op != ref.I {
			return 0, fail([]int{ref.Rank}, nil, nil, "%s reads %s, and nothing makes it wait until %s has written that",
				c.Tell(ref), c.Cells.Spell(ref.Rank, cell), c.TellOp(dag.Ref{Rank: ref.Rank, I: w.op}))
		}
	}
	if value == cellEmpty {
		return 0, fail([]int{ref.Rank}, nil, nil, "%s reads %s, which holds nothing yet", c.Tell(ref), c.Cells.Spell(ref.Rank, cell))
	}
	return value, nil
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
		i++
		if c.header.Folds() {
			if x, ok := c.result(rank, k); !ok || int(x.part) != c.header.InputOf(k) {
				return i, k
			}
			continue
		}
		if i < result.Len && c.last(rank, result.From+i) == int32(k) {
			continue
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
		c.Cells.Spell(rank, cell), rank, c.spellValue(c.last(rank, cell)), c.spellValue(int32(chunk)))
}

// last returns the value of a cell at the end.
func (c *contents) last(rank, cell int) int32 {
	if list := c.writes[rank][cell]; len(list) > 0 {
		return list[len(list)-1].value
	}
	return c.initial(rank, cell)
}
