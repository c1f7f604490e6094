package runtime

import "github.com/schedgen/schedgen/runtime/wire"

// membersWindows translates the ranks of a communicator made by Split to the endpoints of a set of
// windows.
type membersWindows struct {
	wire.Shelves
	m     *members
	ranks []int // scratch of endpoints
}

// endpoints returns the endpoints of ranks. The result is valid until the next call.
func (w *membersWindows) endpoints(ranks []int) []int {
	w.ranks = w.ranks[:0]
	for _, rank := range ranks {
		w.ranks = append(w.ranks, w.m.endpoint[rank])
	}
	return w.ranks
}

// Window implements [wire.Windows].
func (w *membersWindows) Window(rank int) []wire.Line { return w.Shelves.Window(w.m.endpoint[rank]) }

// Reaches implements [wire.Windows].
func (w *membersWindows) Reaches(rank int) bool { return w.Shelves.Reaches(w.m.endpoint[rank]) }

// Flag implements [wire.Windows].
func (w *membersWindows) Flag(to, line int, f wire.Flag) { w.Shelves.Flag(w.m.endpoint[to], line, f) }

// Post implements [wire.Windows].
func (w *membersWindows) Post(line int, to []int, f wire.Flag) {
	w.Shelves.Post(line, w.endpoints(to), f)
}

// Lay implements [wire.Shelves].
func (w *membersWindows) Lay(line int, to []int, f wire.Flag, body []byte, whole int) (lent, ok bool) {
	return w.Shelves.Lay(line, w.endpoints(to), f, body, whole)
}

// Collect implements [wire.Shelves].
func (w *membersWindows) Collect(rank, line int, f wire.Flag, dst []byte) bool {
	return w.Shelves.Collect(w.m.endpoint[rank], line, f, dst)
}
