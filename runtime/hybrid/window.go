package hybrid

import "github.com/schedgen/schedgen/runtime/wire"

// Windows returns the windows of the ranks of this host.
func (t *Transport) Windows() wire.Windows { return windows{t} }

// windows are those of the memory that ranks of a host share. A rank that shares memory with
// no other has one all the same, in which nothing ever stands.
type windows struct{ *Transport }

// Window returns the window of a rank of this host.
func (t windows) Window(rank int) []wire.Line {
	switch {
	case t.near == nil && rank == t.rank:
		return make([]wire.Line, wire.WindowLines)
	case t.near != nil && t.isNear(rank):
		return t.near.Window(t.location.local[rank])
	}
	return nil
}

// Reaches reports whether a rank shares memory with this one.
func (t windows) Reaches(rank int) bool {
	return t.near != nil && rank != t.rank && t.isNear(rank)
}

// Flag writes to the window of a rank of this host.
func (t windows) Flag(to, line int, f wire.Flag) {
	if t.Reaches(to) {
		t.near.Flag(t.location.local[to], line, f)
	}
}

// Post writes to the own window, for ranks of this host.
func (t windows) Post(line int, to []int, f wire.Flag) {
	if t.near == nil {
		return
	}
	t.group = t.group[:0]
	for _, rank := range to {
		if t.Reaches(rank) {
			t.group = append(t.group, t.location.local[rank])
		}
	}
	t.near.Post(line, t.group, f)
}
