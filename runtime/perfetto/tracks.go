package perfetto

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/core"
)

// lanes maps each track of a communicator to the number of the operation on it, or 0.
type lanes [core.MaxOpen]uint64

// open creates the tracks of a communicator.
func (t *Writer) open(comm uint8) {
	t.lanes[comm] = new(lanes)
	for i := range t.lanes[comm] {
		t.nameTrack(comm, i)
	}
}

// nameTrack names a track. Most operations are on the first track of a communicator.
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

// track returns the number of a track.
func track(comm uint8, lane int) int { return int(comm)*core.MaxOpen + lane + 1 }

// find returns the track of operation seq, or -1 if it is on none. For seq 0 it returns a free
// track.
func (l *lanes) find(seq uint64) int {
	for i, at := range l {
		if at == seq {
			return i
		}
	}
	return -1
}
