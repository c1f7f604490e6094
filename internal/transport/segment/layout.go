//go:build linux

package segment

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/schedgen/schedgen/internal/transport/store"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// lineSize is the size of a cache line in bytes. Ranks that write to one line slow each other down.
const lineSize = 64

// pageSize is the size of the segment's header.
const pageSize = 4096

// header is at the start of the segment. It does not change after the segment can be found.
type header struct {
	magic   uint64
	version uint32
	size    uint32
	bytes   uint64
	id      [16]byte
	pid     uint32 // creator
	_       uint32
	start   uint64    // start time of the creator, in the system's ticks since boot
	pace    wire.Pace // as the creator knows it
}

const (
	segmentMagic   = 0x5C4ED6E25348_4D01
	segmentVersion = 13
)

// rankLine is the state of a rank.
type rankLine struct {
	state uint32
	pid   uint32
	start uint64 // start time of the process, as in header
	_     [lineSize - 16]byte
}

// The states of a rank.
const (
	stateAbsent = iota
	stateClaimed
	stateJoined
	stateLeft    // left in good order
	stateCrashed // closed without goodbye
)

// bellLine is the bell of a rank.
type bellLine struct {
	bits   [MaxSize / 64]uint64 // by peer
	parked uint32               // one of the constants below
	_      [lineSize - MaxSize/8 - 4]byte
}

// The states of a rank with a bell. A waiting rank looks only at the bell.
const (
	polling = iota
	parked  // inside the system, waiting on this word
	waiting // waiting, or about to
	away    // waiting for Config.Kick
)

// laneLine is the shared state of one lane from one rank to another.
type laneLine struct {
	read    uint64 // receiver: cells read << 32 | lines of bytes read, both modulo 2^32
	waiting uint32 // sender: ring me when there is room
	late    uint32 // sender: closed before everything was sent
	_       uint32
	changes uint32             // sender, on LaneOps of the first communicator: number of changes of comms
	comms   [comms / 64]uint64 // sender, likewise: bits of the further communicators whose lanes are in use
	_       [lineSize - 24 - comms/8]byte
}

// castLine is the shared state of a rank's multicasts.
type castLine struct {
	floor   uint64 // cells below this one are, or will be, overwritten
	tail    uint64 // cells written
	waiting uint32 // ring me when a cell has been read
	_       [lineSize - 20]byte
}

// positionLine is a rank's position in another's multicasts: cells read << 1, with | 1 while it
// reads the next cell in place.
type positionLine struct {
	cells uint64
	_     [lineSize - 8]byte
}

// cell announces a frame, a piece of its body or a datagram. The stamp is written last: it is the
// cell's number, from 1, modulo 2^32.
type cell struct {
	stamp uint32
	content
}

type content struct {
	flags  uint8
	kind   wire.FrameKind
	inline uint8 // bytes in short
	comm   uint8
	seq    [2]uint32 // low, high
	epoch  uint32
	slot   ir.Slot
	arg    uint32
	print  uint32
	length uint32 // length of the whole body or chunk
	piece  uint32 // bytes in the ring of bytes with this cell
	short  [shortBody]byte
}

// shortBody is the greatest length in bytes of a body that needs no ring of bytes.
const shortBody = 24

// Each structure fits its lines.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(cell{})-lineSize]
	_ = [1]struct{}{}[unsafe.Sizeof(rankLine{})-lineSize]
	_ = [1]struct{}{}[unsafe.Sizeof(wire.Line{})-lineSize]
	_ = [1]struct{}{}[unsafe.Sizeof(bellLine{})-lineSize]
	_ = [1]struct{}{}[unsafe.Sizeof(laneLine{})-lineSize]
	_ = [1]struct{}{}[unsafe.Sizeof(castLine{})-lineSize]
	_ = [1]struct{}{}[unsafe.Sizeof(positionLine{})-lineSize]
	_ = [1]struct{}{}[unsafe.Sizeof(tally{})-lineSize]
	_ = [1]struct{}{}[unsafe.Sizeof(passedLine{})-lineSize]
	_ = [1]struct{}{}[unsafe.Sizeof(loanLine{})-lineSize]
	_ = [1]struct{}{}[unsafe.Sizeof(markLine{})-lineSize]
)

// The flags of a cell.
const (
	flagFirst = 1 << iota // first cell of a frame: the header counts
	flagCut               // the current frame will not be finished
)

// lane is the size of one lane's rings.
type lane struct{ cells, bytes int } // powers of two

// layout says where everything lies in a segment of size ranks. The segment takes at most 68 MiB
// for up to 32 ranks:
//
//	ring of bytes of LaneOps      32 MiB/P², 4 … 64 KiB, for each ordered pair
//	ring of bytes of LaneControl  a quarter of that
//	rings of cells                64 cells of 64 bytes for each lane, 16 above 64 ranks
//	multicasts of a rank          8 MiB/P, 64 KiB … 1 MiB, and 64 cells
//	window of a rank              416 lines, and a room of 4 MiB/32/P, 512 bytes … 8 KiB, for each of the 32 lines with chunks
//
// Two parts follow that have no memory until they are used: for each further communicator, a lane
// like LaneOps for each ordered pair; and for each further set of windows, a window for each rank.
type layout struct {
	size  int
	lanes [wire.Lanes]lane
	cast  lane
	gram  int // payload bytes of a datagram
	room  int // greatest length of a chunk that is copied into a window

	laneAt   [wire.Lanes]int // within the part of a pair
	pair     int             // bytes for one sender
	pairsAt  int             // within the area of a rank
	castAt   int
	loanAt   int // data for lenders, and the marks
	windowAt int
	window   int // bytes of a window with the data of its chunks
	area     int // bytes of a rank
	total    int // bytes with memory from the start
	span     int // bytes of a lane of LaneOps
	part     int // bytes of the lanes of a further communicator
	apart    int // bytes of a window of a further set, which has pages of its own
}

// partAt returns the offset of the lanes of a further communicator.
func (l *layout) partAt(comm uint8) int64 { return int64(l.total) + int64(comm-1)*int64(l.part) }

// setAt returns the offset of a further set of windows.
func (l *layout) setAt(set int) int64 {
	return int64(l.total) + (comms-1)*int64(l.part) + int64(set-1)*int64(l.size*l.apart)
}

// length returns the length of the segment's file.
func (l *layout) length() int64 { return l.setAt(wire.WindowSets) }

func newLayout(size int) *layout {
	l := &layout{size: size}
	ops := wire.RingBytes(size)
	cells := 64
	if size > 64 {
		cells = 16
	}
	l.lanes[wire.LaneOps] = lane{cells, ops}
	l.lanes[wire.LaneControl] = lane{cells, ops / 4}
	l.cast = lane{64, clamp(8<<20/size, 64<<10, 1<<20)}
	l.gram = min(64<<10, l.cast.bytes/4)
	for i, n := range l.lanes {
		l.laneAt[i] = l.pair
		l.pair += lineSize + n.cells*lineSize + n.bytes
	}
	l.pairsAt = 2 * lineSize
	l.castAt = l.pairsAt + size*l.pair
	l.loanAt = l.castAt + lineSize + size*lineSize + l.cast.cells*lineSize + l.cast.bytes
	l.windowAt = l.loanAt + 2*lineSize
	l.room = wire.RoomBytes(size)
	l.window = (wire.WindowLines+1)*lineSize + wire.ChunkLines*(lineSize+l.room)
	l.area = l.windowAt + l.window
	l.total = pages(pageSize + size*l.area)
	l.span = l.laneAt[wire.LaneControl]
	l.part = pages(size * size * l.span)
	l.apart = pages(l.window)
	return l
}

// pages rounds n bytes up to full pages.
func pages(n int) int { return (n + pageSize - 1) &^ (pageSize - 1) }

// clamp returns the greatest power of two that is at most n, within the bounds low and high, which
// are powers of two.
func clamp(n, low, high int) int {
	return min(max(1<<(bits.Len(uint(max(n, 1)))-1), low), high)
}

// lines returns how many cache lines n bytes need.
func lines(n int) uint32 { return uint32((n + lineSize - 1) / lineSize) }

// segment is one mapping of the shared memory.
type segment struct {
	*layout
	mem []byte
	fd  int // descriptor of its file; -1: none
}

// at returns the T at offset in the segment.
func at[T any](s segment, offset int) *T {
	return (*T)(unsafe.Pointer(&s.mem[offset : offset+int(unsafe.Sizeof(*new(T)))][0]))
}

func (s segment) header() *header { return at[header](s, 0) }

func (s segment) rankAt(rank int) int { return pageSize + rank*s.area }

func (s segment) rank(rank int) *rankLine { return at[rankLine](s, s.rankAt(rank)) }

func (s segment) bell(rank int) *bellLine { return at[bellLine](s, s.rankAt(rank)+lineSize) }

// rings are the two rings of a lane or of a rank's multicasts.
type rings struct {
	cells []cell
	bytes []byte
}

func (s segment) rings(offset int, l lane) rings {
	bytesAt := offset + l.cells*lineSize
	return rings{
		cells: unsafe.Slice(at[cell](s, offset), l.cells),
		bytes: s.mem[bytesAt : bytesAt+l.bytes : bytesAt+l.bytes],
	}
}

func (r *rings) cell(n uint64) *cell { return &r.cells[n&uint64(len(r.cells)-1)] }

// lines returns the length of the ring of bytes in lines.
func (r *rings) lines() uint32 { return uint32(len(r.bytes) / lineSize) }

// copyIn copies b to line number n and the lines after it.
func (r *rings) copyIn(n uint32, b []byte) {
	at := int(n&(r.lines()-1)) * lineSize
	k := store.Copy(r.bytes[at:], b)
	store.Copy(r.bytes, b[k:])
}

// copyOut fills b from line number n on.
func (r *rings) copyOut(b []byte, n uint32) {
	at := int(n&(r.lines()-1)) * lineSize
	k := copy(b, r.bytes[at:])
	copy(b[k:], r.bytes)
}

// lane returns one lane from rank from to rank to.
func (s segment) lane(from, to int, l wire.Lane) (*laneLine, rings) {
	offset := s.rankAt(to) + s.pairsAt + from*s.pair + s.laneAt[l]
	return at[laneLine](s, offset), s.rings(offset+lineSize, s.lanes[l])
}

// casts returns the multicasts of rank.
func (s segment) casts(rank int) (*castLine, rings) {
	offset := s.rankAt(rank) + s.castAt
	return at[castLine](s, offset), s.rings(offset+lineSize+s.size*lineSize, s.cast)
}

// loanLine returns a rank's data for lending.
func (s segment) loanLine(rank int) *loanLine { return at[loanLine](s, s.rankAt(rank)+s.loanAt) }

// marks returns a rank's marks of the further sets of windows.
func (s segment) marks(rank int) *markLine {
	return at[markLine](s, s.rankAt(rank)+s.loanAt+lineSize)
}

// position returns the position of rank reader in the multicasts of rank.
func (s segment) position(rank, reader int) *positionLine {
	return at[positionLine](s, s.rankAt(rank)+s.castAt+lineSize+reader*lineSize)
}

func (c *cell) stamped() uint32 { return atomic.LoadUint32(&c.stamp) }

// publish makes cell number n visible, with all earlier stores.
func (c *cell) publish(n uint64) { store32(&c.stamp, uint32(n+1)) }
