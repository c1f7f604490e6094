package perfetto

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime/core"
)

// lanes are the tracks of a communicator: which operation is on each, 0 if none is.
type lanes [core.MaxOpen]uint64

// open makes the tracks of a communicator.
func (t *Writer) open(comm uint8) {
	t.lanes[comm] = new(lanes)
	for i := range t.lanes[comm] {
		t.nameTrack(comm, i)
	}
}

// nameTrack names a track: the first of a communicator has most operations.
func (t *Writer) nameTrack(comm uint8, lane int) {
	name := "operations"
	if comm > 0 {
		name = fmt.Sprintf("operations of communicator %d", comm)
	}
	if lane > 0 {
		name += fmt.Sprintf(", %d more at once", lane)
	}
	t.meta("thread_name", track(comm, lane), fmt.Sprintf(`"name":"%s"`, name))
	t.meta("thread_sort_index", track(comm, lane), fmt.Sprintf(`"sort_index":%d`, track(comm, lane)))
}

// track is the number of a track.
func track(comm uint8, lane int) int { return int(comm)*core.MaxOpen + lane + 1 }

// find returns on which track an operation is, -1 if on none; of 0 it is one that is free.
func (l *lanes) find(seq uint64) int {
	for i, at := range l {
		if at == seq {
			return i
		}
	}
	return -1
}
