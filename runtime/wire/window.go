package wire

import (
	"sync/atomic"
	"unsafe"
)

// Line is a cache line of a window, in which one flag stands, and a short chunk with it, or a
// seal.
type Line struct {
	mark  uint64
	stamp uint64 // Flag.Seq << fromBits | Flag.From, written last
	Short [ShortChunk]byte
}

// ShortChunk is how long a chunk, in bytes, stands in the line of its flag.
const ShortChunk = 48

// SealedLen is how many bytes of a line a flag and its seal take, which come first.
const SealedLen = 24

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
// not a store, is seen before what this rank loads next, also by the race detector. Between two
// locked stores whoever looks at l would fetch it, so that the second has to wait for it again:
// the mark is put.
func (l *Line) Write(f Flag) {
	put(&l.mark, f.Mark)
	atomic.SwapUint64(&l.stamp, f.Seq<<fromBits|uint64(f.From)&(1<<fromBits-1))
}

// Seal makes what stands in l fit to be copied by network adapters, which place the words
// of a line in any order: who finds some of them knows that others are still missing.
func (l *Line) Seal() { atomic.StoreUint64(l.seal(), sealOf(l.mark, l.stamp)) }

// Sealed returns the flag that stands in l, and whether all of what was sealed has come: the seal
// does not fit what has come in part, unless the rest is what stood there before.
func (l *Line) Sealed() (f Flag, whole bool) {
	stamp, mark := atomic.LoadUint64(&l.stamp), atomic.LoadUint64(&l.mark)
	return flagOf(stamp, mark), atomic.LoadUint64(l.seal()) == sealOf(mark, stamp)
}

// seal is where the seal stands, in place of a chunk.
func (l *Line) seal() *uint64 { return (*uint64)(unsafe.Pointer(&l.Short)) }

// sealOf differs for two pairs that differ in one of both.
func sealOf(mark, stamp uint64) uint64 { return mark ^ stamp*0x9E3779B97F4A7C15 }

// Holds reports whether f stands in l. What is loaded before it is loaded while it did.
func (l *Line) Holds(f Flag) bool {
	stamp := f.Seq<<fromBits | uint64(f.From)&(1<<fromBits-1)
	return atomic.LoadUint64(&l.mark) == f.Mark && atomic.CompareAndSwapUint64(&l.stamp, stamp, stamp)
}

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

// Note writes to l the fingerprint of an operation that a rank has called. It comes first, with a
// part of the number, so that a reader who sees the whole number sees that fingerprint or none.
func (l *Line) Note(seq uint64, fingerprint uint32) {
	put(&l.mark, uint64(fingerprint)<<32|seq&(1<<32-1))
	atomic.StoreUint64(&l.stamp, seq<<fromBits)
}

// Noted returns the fingerprint that is noted in l of operation seq, from 1; noted is false if none
// is.
func (l *Line) Noted(seq uint64) (fingerprint uint32, noted bool) {
	stamp := atomic.LoadUint64(&l.stamp)
	mark := atomic.LoadUint64(&l.mark)
	return uint32(mark >> 32), seq > 0 && stamp == seq<<fromBits && uint32(mark) == uint32(seq)
}

// The lines of a window.
const (
	FlagLines   = 128                    // the first of them are written by others
	PostLines   = 128                    // the next by the window's rank, without a chunk
	ChunkLines  = 32                     // the next too, with a chunk
	CallLines   = 128                    // the rest too, with the fingerprints of its last broadcasts, where chunks stand in windows
	ChunkLine   = FlagLines + PostLines  // the first with a chunk
	CallLine    = ChunkLine + ChunkLines // the first with a call
	WindowLines = CallLine + CallLines   // all
)

// Windows are the windows of a transport's ranks: memory in which flags stand. A flag costs
// its reader a load. Flags keep no order with frames. They are of one communicator: those of
// [Transport.Windows] of the first; see [Sets] for the others'.
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

// CopiedTo is up to how many bytes a chunk that stands in a window is never lent.
const CopiedTo = 4 << 10

// Shelves are windows in which chunks stand beside flags, for ranks that read them there. A
// chunk is copied out of the window of its rank, or lent: then it is copied from where it
// lies, in the memory of its rank, once.
type Shelves interface {
	Windows
	// Lay has body stand in a line of the own window, from ChunkLine on, with f, for ranks
	// that are reached, each of which Collects it once, and wakes those of them that wait. It
	// returns false, and nothing stands there, if that line may not be written yet, or if
	// body is too long to be copied and is not lent to all of them; lent says that body, of more than CopiedTo bytes, is
	// referred to until all have collected it, or Revoke. What was copied to the line under the same number stands there
	// already, and may be laid again: nothing is written then. whole is the length of the message that
	// body is of: who lends waits for the others, which pays only if the message is long.
	Lay(line int, to []int, f Flag, body []byte, whole int) (lent, ok bool)
	// Collect copies the chunk that stands with f in a line of a rank's window to dst, which
	// is as long. It returns false if it does not stand there any more.
	Collect(rank, line int, f Flag, dst []byte) bool
	// Collected reports whether all have collected the chunk that is lent in a line.
	Collected(line int) bool
	// Revoke takes back a chunk that is lent: who collects it from now on fails, and who is
	// about to does.
	Revoke(line int)
	// Passed says that this rank collects nothing more of operations up to a number: lines
	// in which nothing else stands may be written again, as far as it is concerned.
	Passed(seq uint64)
}

// WindowSets is how many communicators have windows at a time, the first included: so many sets of
// windows there are, numbered from 0, which is the first one's.
const WindowSets = 8

// Sets are windows of the first communicator, beside which there are sets for others. Ranks are those of
// the transport. A set is used again: by a communicator of other ranks, too, and at the same time by
// several of which none shares a rank with another.
type Sets interface {
	Shelves
	// FreeSets returns those sets, set s by bit s, that no communicator of this rank has, and
	// that all other members of the last one that had it here have closed, or will never touch
	// any more because their end of the transport is closed.
	FreeSets() uint8
	// OpenSet returns the windows of a set for the communicator of members, this rank among them, for
	// all of which it is free. In the own one nothing stands. epoch is above that of each
	// communicator that any of members has been in. When all members have returned from OpenSet,
	// and not before, flags may be written.
	OpenSet(set int, members []int, epoch uint32) (Shelves, error)
	// CloseSet says that this rank neither writes nor reads the windows of a set any more.
	CloseSet(set int)
}

// Copier is a transport that tells how often a long chunk is copied between ranks that share memory.
type Copier interface {
	// Copies returns 1 if such chunks are lent, and else 2 and why this rank cannot collect what is
	// lent; 0 if it shares memory with no other.
	Copies() (n int, why error)
}
