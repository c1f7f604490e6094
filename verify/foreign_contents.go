package verify

import (
	"fmt"

	"github.com/schedgen/schedgen/ir/dag"
)

// What a cell holds, beside a chunk of the root's message (≥ 0).
const (
	cellEmpty = int32(-1) // nothing yet
	cellMixed = int32(-2) // the result of a computation
)

func spellCell(v int32) string {
	switch v {
	case cellEmpty:
		return "nothing"
	case cellMixed:
		return "the result of a reduction"
	}
	return fmt.Sprintf("chunk %d", v)
}

// contents follows the chunks of a broadcast through the memory of the ranks. A
// read sees a write only if the rank itself orders the write before it.
type contents struct {
	*foreign
	walk    *dag.Walker
	writes  []map[int][]write // by rank and cell, in the order of the run
	carried [][]int32         // by operation: what it sends
}

// write is what one operation puts into a cell.
type write struct {
	op    int   // index in its rank
	value int32 // once it has been run
}

func (f *foreign) proveContents() (string, error) {
	c := &contents{foreign: f, walk: dag.NewWalker(f.Graph), writes: make([]map[int][]write, len(f.Ranks)), carried: make([][]int32, f.index.Len())}
	for rank := range c.writes {
		c.writes[rank] = make(map[int][]write)
	}
	for _, id := range f.order {
		if err := c.addWrites(id); err != nil {
			return "", err
		}
	}
	for _, id := range f.order {
		if err := c.step(id); err != nil {
			return "", err
		}
	}
	return c.judge()
}

// addWrites lists what the operation will write. Writes of one cell must be
// ordered.
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
					c.Tell(dag.Ref{Rank: ref.Rank, I: last}), op.Tell(), c.Cells.Spell(ref.Rank, cell))
			}
		}
		c.writes[ref.Rank][cell] = append(list, write{op: ref.I})
	}
	return nil
}

// step does what the operation does to the memory.
func (c *contents) step(id int) error {
	ref, op := c.op(id)
	values := make([]int32, op.Read.Len)
	for i := range values {
		var err error
		if values[i], err = c.read(ref, op.Read.From+i); err != nil {
			return err
		}
	}
	if op.Kind == dag.Recv {
		values = c.carried[c.mates[id]]
		c.carried[c.mates[id]] = nil
	}
	if op.Mix {
		values = mixed(max(op.Size, op.Write.Len))
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

func mixed(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = cellMixed
	}
	return out
}

// initial returns what a cell holds at first.
func (c *contents) initial(rank, cell int) int32 {
	in := c.Cells.Input[rank]
	if rank != c.Root || cell < in.From || cell >= in.From+in.Len {
		return cellEmpty
	}
	return int32(cell - in.From)
}

// read returns what a cell holds when the operation starts. Whatever writes the
// cell must end before or start after it.
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
				c.Tell(ref), c.Cells.Spell(ref.Rank, cell), c.Ranks[ref.Rank][w.op].Tell())
		}
	}
	if value == cellEmpty {
		return 0, fail([]int{ref.Rank}, nil, nil, "%s reads %s, which holds nothing yet", c.Tell(ref), c.Cells.Spell(ref.Rank, cell))
	}
	return value, nil
}

// judge looks at what the ranks have at the end.
func (c *contents) judge() (string, error) {
	if c.Cells.Input[c.Root].Len == 0 {
		return "", fail([]int{c.Root}, nil, nil, "rank %d, the root, has no input", c.Root)
	}
	var missed []int
	why := ""
	for rank, result := range c.Cells.Result {
		if rank == c.Root {
			continue
		}
		if lacks := c.lacks(rank, result); lacks != "" {
			missed = append(missed, rank)
			if why == "" {
				why = lacks
			}
		}
	}
	if len(missed) > 0 {
		return "", fail(missed, nil, nil, "%s never %s the message of rank %d: %s",
			spellRanks(missed), plural(len(missed), "gets", "get"), c.Root, why)
	}
	if lacks := c.lacks(c.Root, c.Cells.Result[c.Root]); lacks != "" {
		return "", fail([]int{c.Root}, nil, nil, "rank %d, the root, does not copy its message into its own output, which is not its input: %s", c.Root, lacks)
	}
	return "", nil
}

// lacks says what is wrong with what the rank has at the end; nothing: "".
func (c *contents) lacks(rank int, result dag.Span) string {
	chunks := c.Cells.Input[c.Root].Len
	for k := range chunks {
		if k >= result.Len {
			return fmt.Sprintf("rank %d has room for %d of %d chunks", rank, result.Len, chunks)
		}
		cell := result.From + k
		value := c.initial(rank, cell)
		if list := c.writes[rank][cell]; len(list) > 0 {
			value = list[len(list)-1].value
		}
		if value != int32(k) {
			return fmt.Sprintf("%s of rank %d holds %s at the end, not chunk %d", c.Cells.Spell(rank, cell), rank, spellCell(value), k)
		}
	}
	return ""
}
