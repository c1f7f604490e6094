package hybrid

import "github.com/schedgen/schedgen/runtime/wire"

// Windows returns the windows of the ranks of this host.
func (t *Transport) Windows() wire.Windows { return windows{t} }

var _ wire.Shelves = windows{}

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
	t.near.Post(line, t.nearby(to), f)
}

// nearby returns ranks of this host as the memory that they share numbers them, until the
// next call.
func (t windows) nearby(ranks []int) []int {
	t.group = t.group[:0]
	for _, rank := range ranks {
		if t.Reaches(rank) {
			t.group = append(t.group, t.location.local[rank])
		}
	}
	return t.group
}

// Lay has a chunk stand in the own window, for ranks of this host.
func (t windows) Lay(line int, to []int, f wire.Flag, body []byte, whole int) (lent, ok bool) {
	if t.near == nil {
		return false, false
	}
	return t.near.Lay(line, t.nearby(to), f, body, whole)
}

// Collect copies a chunk from the window of a rank of this host.
func (t windows) Collect(rank, line int, f wire.Flag, dst []byte) bool {
	return t.Reaches(rank) && t.near.Collect(t.location.local[rank], line, f, dst)
}

// Collected reports whether the ranks of this host have collected a chunk.
func (t windows) Collected(line int) bool { return t.near == nil || t.near.Collected(line) }

// Revoke takes a chunk back.
func (t windows) Revoke(line int) {
	if t.near != nil {
		t.near.Revoke(line)
	}
}

// Passed tells the ranks of this host how far this one has come.
func (t windows) Passed(seq uint64) {
	if t.near != nil {
		t.near.Passed(seq)
	}
}

// Copies tells how often a long chunk is copied between ranks of this host.
func (t *Transport) Copies() (n int, why error) {
	if t.near == nil {
		return 0, nil
	}
	return t.near.Copies()
}
