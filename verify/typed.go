package verify

import "github.com/schedgen/schedgen/ir"

// typed finds the part of the vector to which each slot belongs, from the program of its rank
// alone, because a runtime must derive lengths in the same way. The number of a contribution or a
// chunk gives its part. A partial result belongs to the same part as the slots with which, and into
// which, it is folded.
var typed = Check{
	Name:    "typed",
	Summary: "a fold has operands of one part of the vector; a put under another name keeps the part",
	scope:   &everyFold,
	prove:   proveTyped,
}

func proveTyped(sub *subject) (string, error) {
	if !sub.typing.known {
		sub.typing.known, sub.typing.err = true, findMixed(sub)
	}
	return "", sub.typing.err
}

// findMixed returns the failure of slots that do not belong together, or nil if there are none.
func findMixed(sub *subject) error {
	c := newClasses(&sub.s.Header, sub.layout.Slots(), sub.layout.Slot)
	var err error
	sub.eachRule(func(rank int, r *ir.Rule) {
		for _, a := range r.Do {
			if err == nil && a.Op == ir.Fold {
				err = c.fold(rank, a)
			}
		}
	})
	if err != nil {
		return err
	}
	for rank := range sub.s.Programs {
		for i := range sub.s.Programs[rank].Values {
			if s := ir.Value(i); c.partOfSlot(rank, s) == noPart {
				return fail([]int{rank}, []Place{place(rank, s)}, nil,
					"the program of rank %d does not show which part of the vector %v belongs to", rank, s)
			}
		}
	}
	sub.eachRule(func(rank int, r *ir.Rule) {
		for _, a := range r.Do {
			if err == nil && a.Op == ir.Put && a.As != ir.None {
				err = c.put(rank, a)
			}
		}
	})
	return err
}

// partOf returns the part of the vector to which a contribution or a chunk belongs by its number.
func partOf(h *ir.Header, s ir.Slot) int32 {
	k := s.Index()
	switch {
	case s.Kind() == ir.KindInput:
		return int32(k)
	case h.Folds() && h.FoldedRanks(k) > 0:
		return int32(h.InputOf(k))
	}
	return givenPart(k)
}

// classes are sets of slots, each of one rank, that belong to one part of the vector.
type classes struct {
	h      *ir.Header
	number func(rank int, s ir.Slot) int
	parent []int32 // by slot number
	part   []int32 // by slot number of a class: its part, noPart if that is not known
}

// newClasses returns classes of one slot each.
func newClasses(h *ir.Header, slots int, number func(rank int, s ir.Slot) int) *classes {
	c := &classes{h: h, number: number, parent: make([]int32, slots), part: make([]int32, slots)}
	for id := range c.parent {
		c.parent[id], c.part[id] = int32(id), noPart
	}
	return c
}

// class returns the slot that represents the class of a slot.
func (c *classes) class(id int32) int32 {
	for c.parent[id] != id {
		c.parent[id] = c.parent[c.parent[id]]
		id = c.parent[id]
	}
	return id
}

// partOfSlot returns the part to which a slot of rank belongs, or noPart if that is not known.
func (c *classes) partOfSlot(rank int, s ir.Slot) int32 {
	if s.Kind() != ir.KindValue {
		return partOf(c.h, s)
	}
	id := c.number(rank, s)
	if id < 0 { // no program mentions it
		return noPart
	}
	return c.part[c.class(int32(id))]
}

// fold records that an operand belongs to the same part as the result.
func (c *classes) fold(rank int, a ir.Action) error {
	part, was := c.partOfSlot(rank, a.Slot), c.partOfSlot(rank, a.As)
	switch {
	case was == noPart:
		was = part
	case part != noPart && part != was:
		return fail([]int{rank}, []Place{place(rank, a.As)}, nil, "rank %d folds %s into %s",
			rank, belonging(a.Slot, part), belonging(a.As, was))
	}
	into := c.class(int32(c.number(rank, a.As)))
	if a.Slot.Kind() != ir.KindInput {
		c.parent[c.class(int32(c.number(rank, a.Slot)))] = into
	}
	c.part[into] = was
	return nil
}

// put checks that a put slot and its name at the destination belong to the same part.
func (c *classes) put(rank int, a ir.Action) error {
	to := int(a.To)
	from, into := c.partOfSlot(rank, a.Slot), c.partOfSlot(to, a.As)
	if from == into {
		return nil
	}
	return fail([]int{rank, to}, []Place{place(to, a.As)}, nil, "rank %d puts %s to rank %d as %s",
		rank, belonging(a.Slot, from), to, belonging(a.As, into))
}

// belonging spells a slot with its part, unless its name shows the part: "v1 (of x0)".
func belonging(s ir.Slot, part int32) string {
	if name := partName(part); name != s.String() {
		return s.String() + " (of " + name + ")"
	}
	return s.String()
}
