package verify

import "slices"

// marks numbers the slots that a must-analysis tracks.
type marks struct {
	of    []int32 // by slot number: the mark, -1: none
	slots []int32 // by mark: the slot number
}

func noMarks(sub *subject) *marks { return &marks{of: slices.Repeat([]int32{-1}, sub.Slots())} }

// number marks the wanted slots in the order of their numbers, by rank. Then the marks that a rank
// knows of its neighbours are a few runs.
func (m *marks) number(wanted []bool) *marks {
	for id, w := range wanted {
		if w {
			m.of[id] = int32(len(m.slots))
			m.slots = append(m.slots, int32(id))
		}
	}
	return m
}

// chunkMarks marks every chunk that a rank, other than but, wants and does not hold from the
// beginning. It stops at the first such chunk that is never set because the schedule does not
// mention it, and returns it as never. never is the zero Place if there is no such chunk.
func chunkMarks(sub *subject, but int) (m *marks, never Place) {
	wanted := make([]bool, sub.Slots())
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
