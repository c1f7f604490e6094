//go:build linux

package segment

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/sets"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Besides the windows of the first communicator, which lie in the areas of their ranks, there are
// sets of windows for further communicators, at the end of the segment's file. They have no memory
// until they are opened: a rank then asks for the memory of its own window and maps all windows of
// the set. Others write there only after that.

// set is one set of windows in a mapping; rank r's window is at base + r*stride. Each window has
// its lines, the rank's passedLine, and for each line with chunks a tally and a room.
type set struct {
	segment
	base, stride int
}

// firstSet returns the windows of the first communicator.
func (s segment) firstSet() set { return set{s, pageSize + s.windowAt, s.area} }

// lines returns the lines of rank: the lines for its flags, and the lines that it posts.
func (s *set) lines(rank int) []wire.Line {
	return unsafe.Slice(at[wire.Line](s.segment, s.base+rank*s.stride), wire.WindowLines)
}

func (s *set) behind(rank int) int { return s.base + rank*s.stride + wire.WindowLines*lineSize }

// passed returns the passedLine of a rank.
func (s *set) passed(rank int) *passedLine { return at[passedLine](s.segment, s.behind(rank)) }

// tally returns the tally of chunk line k in a rank's window.
func (s *set) tally(rank, k int) *tally {
	return at[tally](s.segment, s.behind(rank)+(1+k)*lineSize)
}

// roomOf returns the room of chunk line k in a rank's window.
func (s *set) roomOf(rank, k int) []byte {
	offset := s.behind(rank) + (1+wire.ChunkLines)*lineSize + k*s.room
	return s.mem[offset : offset+s.room]
}

// markLine holds a rank's marks of the sets; see [sets.Mark].
type markLine [wire.WindowSets]uint64

// Windows are a set as one rank uses it.
type Windows struct {
	set
	t      *Transport
	own    []wire.Line
	window [][]wire.Line // by rank
	others []int         // other ranks with the set

	last  [wire.ChunkLines]uint64 // by line: last operation that it was written for
	freed uint64                  // all ranks have passed the operations up to this one
}

// windowSets are the sets of a rank.
type windowSets struct {
	list [wire.WindowSets]*Windows // the mapped sets
	book sets.Book
}

// use returns s for use by t.
func (s set) use(t *Transport) *Windows {
	w := &Windows{set: s, t: t, own: s.lines(t.rank)}
	for rank := range s.size {
		w.window = append(w.window, s.lines(rank))
	}
	return w
}

// Windows implements [wire.Transport].
func (t *Transport) Windows() wire.Windows { return t.First() }

// First returns the windows of the first communicator.
func (t *Transport) First() *Windows { return t.windows.list[0] }

// FreeSets implements [wire.Sets].
func (w *Windows) FreeSets() uint8 {
	t := w.t
	if t.closed {
		return 0
	}
	return t.windows.book.Free(func(set, rank int) uint64 {
		if p := &t.peers[rank]; p.dead || atomic.LoadUint32(&p.line.state) != stateJoined {
			return sets.Over
		}
		return atomic.LoadUint64(&t.marks(rank)[set])
	})
}

// OpenSet implements [wire.Sets].
func (w *Windows) OpenSet(number int, members []int, epoch uint32) (wire.Shelves, error) {
	of, err := w.Open(number, members, epoch)
	if err != nil {
		return nil, err
	}
	return of, nil
}

// Open is OpenSet with a concrete result type.
func (w *Windows) Open(number int, members []int, epoch uint32) (*Windows, error) {
	t := w.t
	others := slices.DeleteFunc(slices.Clone(members), func(rank int) bool { return rank == t.rank })
	mark := t.windows.book.Open(number, others, epoch)
	if w = t.windows.list[number]; w == nil {
		s, err := t.mapSet(number)
		if err != nil {
			store64(&t.marks(t.rank)[number], t.windows.book.Close(number))
			return nil, fmt.Errorf("shm: %w", err)
		}
		w = s.use(t)
		t.windows.list[number] = w
	}
	w.others = others
	w.empty()
	store64(&t.marks(t.rank)[number], mark)
	return w, nil
}

// mapSet maps a set, and allocates memory for this rank's window.
func (t *Transport) mapSet(number int) (set, error) {
	own := t.setAt(number) + int64(t.rank*t.apart)
	if err := allocate(t.fd, own, int64(t.apart)); err != nil {
		return set{}, fmt.Errorf("%d KiB of memory for windows: %w", t.apart>>10, err)
	}
	mem, err := unix.Mmap(t.fd, t.setAt(number), t.size*t.apart, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return set{}, fmt.Errorf("map %d KiB for windows: %w", t.size*t.apart>>10, err)
	}
	return set{segment{t.layout, mem, -1}, 0, t.apart}, nil
}

// empty clears this rank's window.
func (w *Windows) empty() {
	clear(w.own)
	clear(w.last[:])
	w.freed = 0
	store64(&w.passed(w.t.rank).seq, 0)
	for k := range wire.ChunkLines {
		store32(&w.tally(w.t.rank, k).left, 0)
	}
}

// CloseSet implements [wire.Sets].
func (w *Windows) CloseSet(number int) {
	t := w.t
	if t.closed {
		return
	}
	store64(&t.windows.list[number].passed(t.rank).seq, math.MaxUint64) // it collects nothing any more
	store64(&t.marks(t.rank)[number], t.windows.book.Close(number))
}

// unmap releases the mappings of further sets.
func (ws *windowSets) unmap() (err error) {
	for _, w := range ws.list[1:] {
		if w != nil {
			err = errors.Join(err, w.segment.unmap())
		}
	}
	return err
}
