package dag

import "errors"

// maxWalk bounds the steps of all walks of one Walker together.
const maxWalk = 1 << 28

// ErrTooLarge is the error of a graph that would take too long to check.
var ErrTooLarge = errors.New("too large: the operations of a rank depend on each other in too many ways")

// Walker finds out which operations of a rank end before others start.
type Walker struct {
	g     *Graph
	stamp []int32 // by operation of the rank: the number of the last walk that has visited it
	walk  int32
	todo  []int32
	steps int
}

// NewWalker returns a walker through g.
func NewWalker(g *Graph) *Walker {
	longest := 0
	for _, ops := range g.Ranks {
		longest = max(longest, len(ops))
	}
	return &Walker{g: g, stamp: make([]int32, longest)}
}

// After reports whether operation late of rank starts only after operation early has ended. It
// follows the dependencies within the rank alone. The error is [ErrTooLarge].
func (w *Walker) After(rank, late, early int) (bool, error) {
	if w.walk++; w.walk < 0 {
		return false, ErrTooLarge
	}
	ops := w.g.Ranks[rank]
	w.todo = append(w.todo[:0], int32(late))
	for len(w.todo) > 0 {
		at := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		for _, before := range ops[at].After {
			if w.steps++; w.steps > maxWalk {
				return false, ErrTooLarge
			}
			if int(before) == early {
				return true, nil
			}
			if w.stamp[before] != w.walk {
				w.stamp[before] = w.walk
				w.todo = append(w.todo, before)
			}
		}
	}
	return false, nil
}
