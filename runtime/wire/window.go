package wire

import "sync/atomic"

// Line is a cache line of a window, in which one flag stands, in its first FlagLen bytes.
type Line struct {
	mark  uint64
	stamp uint64 // Flag.Seq << fromBits | Flag.From, written last
	seal  uint64 // of both, if the line is sealed
	_     [40]byte
}

// FlagLen is how many bytes of a line its flag takes.
const FlagLen = 24

const fromBits = 16

// Flag is a signal that is written to a line that its receiver looks at (Bierbaum,
// Wassen, Lankes, Bemmerl: SCI Collectives, sections 4.1 and 4.2). It is never taken
// back: the number tells it from what stood there before.
type Flag struct {
	Seq  uint64 // of the operation, below 2^48
	Mark uint64 // what that is: Header.Print << 32 | Header.Epoch
	From int    // the rank that has written it, below 2^16
}

// Write has f stand in l. Whoever sees it sees all that this rank has written before. A swap, and
// not a store, is seen before what this rank loads next, also by the race detector.
func (l *Line) Write(f Flag) {
	atomic.StoreUint64(&l.mark, f.Mark)
	atomic.SwapUint64(&l.stamp, f.Seq<<fromBits|uint64(f.From)&(1<<fromBits-1))
}

// Seal makes what stands in l fit to be copied by network adapters, which place the words
// of a line in any order: who finds some of them knows that others are still missing.
func (l *Line) Seal() { atomic.StoreUint64(&l.seal, seal(l.mark, l.stamp)) }

// Sealed returns the flag that stands in l, and whether all of what was sealed has come: the seal
// does not fit what has come in part, unless the rest is what stood there before.
func (l *Line) Sealed() (f Flag, whole bool) {
	stamp, mark := atomic.LoadUint64(&l.stamp), atomic.LoadUint64(&l.mark)
	return flagOf(stamp, mark), atomic.LoadUint64(&l.seal) == seal(mark, stamp)
}

// seal differs for two pairs that differ in one of both.
func seal(mark, stamp uint64) uint64 { return mark ^ stamp*0x9E3779B97F4A7C15 }

// Seq returns the number of the flag that stands in l, 0 if there is none yet.
func (l *Line) Seq() uint64 { return atomic.LoadUint64(&l.stamp) >> fromBits }

// Flag returns the flag that stands in l.
func (l *Line) Flag() Flag {
	stamp := atomic.LoadUint64(&l.stamp)
	return flagOf(stamp, atomic.LoadUint64(&l.mark))
}

func flagOf(stamp, mark uint64) Flag {
	return Flag{Seq: stamp >> fromBits, Mark: mark, From: int(stamp & (1<<fromBits - 1))}
}

// The lines of a window.
const (
	FlagLines   = 128                   // the first of them are written by others
	PostLines   = 128                   // the rest by the window's rank
	WindowLines = FlagLines + PostLines // all
)

// Windows are the windows of a transport's ranks: memory in which flags stand. A flag costs
// its reader a load. Flags keep no order with frames. They are of the first communicator.
//
// Among ranks that share memory a flag costs its writer a store, and all windows of ranks that
// it reaches can be read. Where network adapters write, none but the own one can: a flag is
// written by the next Poll, and sealed, and nothing is posted.
//
// A line is written again only when all who look at it have seen what it says; the
// transport does not know when that is. Package core says why it is so.
type Windows interface {
	// Window returns the WindowLines lines of a rank, nil if they cannot be read
	// here. The own ones always can. They are valid until Close.
	Window(rank int) []Line
	// Reaches reports whether Flag reaches a rank. This one it does not.
	Reaches(rank int) bool
	// Flag writes f to a line of a rank that it reaches, below FlagLines, and wakes
	// the rank if it waits. What is written before its goodbye stands when that is told.
	Flag(to, line int, f Flag)
	// Post writes f to a line of the own window, from FlagLines on, for ranks that
	// read it there, and wakes those of them that wait.
	Post(line int, to []int, f Flag)
}
