package dag

import "github.com/schedgen/schedgen/ir"

// Contents is a graph as a schedule of what its messages carry and what its ranks fold. A cell of
// memory can be written many times, but a slot only once. So each message of a cell, and each fold,
// is a partial result of its own. A copy within a rank makes no new slot: a read of the copy returns
// the slot of the original.
//
// A read sees a write only if the rank itself orders the write before it.
type Contents struct {
	Schedule *ir.Schedule // rules wait for what they use
	Folds    []Fold       // in the order of the run

	run    *Run
	first  func(rank, cell int) ir.Slot
	walk   *Walker
	writes []write         // in the order of the run
	last   []map[int]int32 // by rank and cell: the index of the last write
	wrote  []ir.Slot       // by index of a write: the slot that it writes; so far
	left   [][]ir.Slot     // by operation: what it sends, or leaves to the send behind it

	slots []ir.Slot // room for lists
	acts  []ir.Action
}

// Fold is a fold of two slots of the rank of an operation.
type Fold struct {
	Op   Ref
	A, B ir.Slot
}

// write is a write of one operation to a cell.
type write struct {
	op   int32 // index in its rank
	prev int32 // the index of the write to the same cell before, -1: it is the first
}

// roomFor is the least length of the arrays from which short lists are cut.
const roomFor = 1 << 10

// list cuts a list of n items from an array, which it replaces if it is too short.
func list[T any](array *[]T, n int) []T {
	if n > len(*array) {
		*array = make([]T, max(n, roomFor))
	}
	l := (*array)[:n:n]
	*array = (*array)[n:]
	return l
}

// NewContents follows the contents of cells through the run r of a graph with cells, as an
// operation with header h. first returns the slot that a cell holds before the run, or ir.None if
// the cell is empty. The error is a [*Fault] if the contents depend on timing, or if an operation
// reads a cell that holds nothing. It is [ErrTooLarge] if the graph is too large to check.
func NewContents(r *Run, h ir.Header, first func(rank, cell int) ir.Slot) (*Contents, error) {
	c := &Contents{
		Schedule: &ir.Schedule{Header: h, Programs: make([]ir.Program, len(r.g.Ranks))},
		run:      r, first: first, walk: NewWalker(r.g), last: make([]map[int]int32, len(r.g.Ranks)), left: make([][]ir.Slot, r.x.Len()),
	}
	total := 0
	for rank, ops := range r.g.Ranks {
		n, rules := 0, 0
		for i := range ops {
			if n += ops[i].Write.Len; ops[i].Kind == Send || ops[i].Mix {
				rules++
			}
		}
		c.last[rank], total = make(map[int]int32, n), total+n
		c.Schedule.Programs[rank] = ir.Program{Rank: rank, Rules: make([]ir.Rule, 0, rules)}
	}
	c.writes, c.wrote = make([]write, 0, total), make([]ir.Slot, 0, total)
	for _, id := range r.Order {
		if err := c.addWrites(r.x.Ref(int(id))); err != nil {
			return nil, err
		}
	}
	for _, id := range r.Order {
		if err := c.step(int(id)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// addWrites adds the writes of an operation. The rank must order all writes of one cell.
func (c *Contents) addWrites(ref Ref) error {
	g, last := c.run.g, c.last[ref.Rank]
	op := &g.Ranks[ref.Rank][ref.I]
	for cell := op.Write.From; cell < op.Write.From+op.Write.Len; cell++ {
		prev, again := last[cell]
		if !again {
			prev = -1
		} else {
			before := int(c.writes[prev].op)
			ordered, err := c.walk.After(ref.Rank, ref.I, before)
			if err != nil {
				return err
			}
			if !ordered {
				return faultf([]int{ref.Rank}, "%s and %s both write %s and nothing orders them",
					g.Tell(Ref{ref.Rank, before}), g.TellOp(ref), g.Cells.Spell(ref.Rank, cell))
			}
		}
		last[cell] = int32(len(c.writes))
		c.writes = append(c.writes, write{int32(ref.I), prev})
	}
	return nil
}

// step adds what an operation puts and folds.
func (c *Contents) step(id int) error {
	ref := c.run.x.Ref(id)
	op := &c.run.g.Ranks[ref.Rank][ref.I]
	slots, err := c.reads(ref, op.Read)
	if err != nil {
		return err
	}
	switch {
	case op.Kind == Send && op.Mix:
		c.put(ref, id, c.take(id-1)) // of the receive before it
	case op.Kind == Send:
		c.put(ref, id, slots)
	case op.Kind == Recv && op.Mix:
		slots = c.fold(ref, slots, c.take(c.run.mates[id]))
		c.left[id] = slots
	case op.Kind == Recv:
		slots = c.take(c.run.mates[id])
	case op.Mix:
		onto, err := c.reads(ref, op.Write)
		if err != nil {
			return err
		}
		slots = c.fold(ref, onto, slots)
	}
	c.wrote = append(c.wrote, slots[:op.Write.Len]...)
	return nil
}

// take returns what an operation has left, for the only operation that takes it.
func (c *Contents) take(id int) []ir.Slot {
	slots := c.left[id]
	c.left[id] = nil
	return slots
}

// put adds the message of a send, and leaves the slots of the receiver that it sets.
func (c *Contents) put(ref Ref, id int, slots []ir.Slot) {
	to := c.run.g.Ranks[ref.Rank][ref.I].Peer
	do, left := list(&c.acts, len(slots)), list(&c.slots, len(slots))
	for i, s := range slots {
		left[i] = c.value(to)
		do[i] = ir.Action{Op: ir.Put, Joins: i > 0, Slot: s, As: left[i], To: int32(to)}
	}
	c.left[id] = left
	c.rule(ref, do)
}

// fold adds folds of slots with others and returns the results.
func (c *Contents) fold(ref Ref, with, slots []ir.Slot) []ir.Slot {
	do, made := list(&c.acts, 2*len(slots)), list(&c.slots, len(slots))
	for i, s := range slots {
		made[i] = c.value(ref.Rank)
		do[2*i] = ir.Action{Op: ir.Fold, Slot: with[i], As: made[i]}
		do[2*i+1] = ir.Action{Op: ir.Fold, Joins: true, Slot: s, As: made[i]}
		c.Folds = append(c.Folds, Fold{ref, with[i], s})
	}
	c.rule(ref, do)
	return made
}

// value returns a new partial result of a rank.
func (c *Contents) value(rank int) ir.Slot {
	p := &c.Schedule.Programs[rank]
	p.Values++
	return ir.Value(p.Values - 1)
}

// rule adds a rule of the rank of an operation, which waits for what it uses.
func (c *Contents) rule(ref Ref, do []ir.Action) {
	when := list(&c.slots, max(len(do), 1))[:0]
	for _, a := range do {
		if a.Slot.Kind() == ir.KindValue {
			when = append(when, a.Slot)
		}
	}
	if len(when) == 0 {
		when = append(when, ir.Enter)
	}
	p := &c.Schedule.Programs[ref.Rank]
	p.Rules = append(p.Rules, ir.Rule{When: when, Do: do})
}

// reads returns the slots in cells when an operation starts. Every operation that writes one of the
// cells must end before it or start after it.
func (c *Contents) reads(ref Ref, cells Span) ([]ir.Slot, error) {
	g, slots := c.run.g, list(&c.slots, cells.Len)
	for i := range slots {
		cell := cells.From + i
		at, written := c.last[ref.Rank][cell]
		for ; written && at >= 0; at = c.writes[at].prev {
			w := c.writes[at]
			before, err := c.walk.After(ref.Rank, ref.I, int(w.op))
			if err != nil {
				return nil, err
			}
			if before {
				break // so are the writes before that one
			}
			after, err := c.walk.After(ref.Rank, int(w.op), ref.I)
			if err != nil {
				return nil, err
			}
			if !after && int(w.op) != ref.I {
				return nil, faultf([]int{ref.Rank}, "%s reads %s, and nothing makes it wait until %s has written that",
					g.Tell(ref), g.Cells.Spell(ref.Rank, cell), g.TellOp(Ref{ref.Rank, int(w.op)}))
			}
		}
		if slots[i] = c.first(ref.Rank, cell); written && at >= 0 {
			slots[i] = c.wrote[at]
		}
		if slots[i] == ir.None {
			return nil, faultf([]int{ref.Rank}, "%s reads %s, which holds nothing yet", g.Tell(ref), g.Cells.Spell(ref.Rank, cell))
		}
	}
	return slots, nil
}

// Last returns the slot in a cell at the end, or ir.None if the cell holds nothing.
func (c *Contents) Last(rank, cell int) ir.Slot {
	if at, written := c.last[rank][cell]; written {
		return c.wrote[at]
	}
	return c.first(rank, cell)
}
