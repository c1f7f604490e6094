package verify

import "github.com/schedgen/schedgen/ir"

// marks numbers the slots that a must-analysis keeps track of.
type marks struct {
	of    []int32 // by slot number: the mark, -1: none
	slots []int32 // by mark: the slot number
}

func noMarks(sub *subject) *marks {
	m := &marks{of: make([]int32, sub.layout.Slots())}
	for i := range m.of {
		m.of[i] = -1
	}
	return m
}

// number gives marks to the wanted slots in the order of their numbers, by
// rank: what a rank knows of its neighbours is then a few runs of marks.
func (m *marks) number(wanted []bool) *marks {
	for id, w := range wanted {
		if w {
			m.of[id] = int32(len(m.slots))
			m.slots = append(m.slots, int32(id))
		}
	}
	return m
}

// enterMarks marks enter of every rank: the mark of a rank is its number.
func enterMarks(sub *subject) *marks {
	wanted := make([]bool, sub.layout.Slots())
	for r := range sub.s.Programs {
		wanted[sub.layout.Slot(r, ir.Enter)] = true
	}
	return noMarks(sub).number(wanted)
}

// chunkMarks marks every chunk that a rank, other than the given one, wants and does not hold from the
// beginning. It ends at the first of them that is never set because the schedule does not mention it;
// never is the zero Place if there is no such chunk.
func chunkMarks(sub *subject, but int) (m *marks, never Place) {
	wanted := make([]bool, sub.layout.Slots())
	for r := range sub.s.Programs {
		if r == but {
			continue
		}
		lacks := sub.lacks(r)
		for c, ok := lacks.chunk(); ok; c, ok = lacks.chunk() {
			id := sub.layout.Slot(r, c)
			if id < 0 {
				return noMarks(sub).number(wanted), place(r, c)
			}
			wanted[id] = true
		}
	}
	return noMarks(sub).number(wanted), Place{}
}
