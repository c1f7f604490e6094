package wire

import (
	"sync/atomic"
	"unsafe"
)

// Line is a cache line of a window. It holds one flag, and a short chunk or a seal with it.
type Line struct {
	mark  uint64
	stamp uint64 // Flag.Seq << fromBits | Flag.From, written last
	Short [ShortChunk]byte
}

// ShortChunk is the greatest length in bytes of a chunk that lies in the line of its flag.
const ShortChunk = 48

// SealedLen is how many bytes a flag and its seal take, at the beginning of a line.
const SealedLen = 24

const fromBits = 16

// Flag is a signal written to a line that its receiver polls (Bierbaum, Wassen, Lankes, Bemmerl:
// SCI Collectives, sections 4.1 and 4.2). A flag is never cleared: its operation number
// distinguishes it from an older flag in the same line.
type Flag struct {
	Seq  uint64 // operation number, below 2^48
	Mark uint64 // identity of the operation: Header.Print << 32 | Header.Epoch
	From int    // rank of the writer, below 2^16
}

// Write stores f in l. A reader that sees f also sees all earlier stores of this rank, and this rank's
// later loads come after f is visible.
func (l *Line) Write(f Flag) {
	put(&l.mark, f.Mark)
	show(&l.stamp, f.Seq<<fromBits|uint64(f.From)&(1<<fromBits-1))
}

// Seal prepares the content of l for network adapters, which copy the words of a line in any order.
// The seal lets a reader see whether words are missing.
func (l *Line) Seal() { atomic.StoreUint64(l.seal(), sealOf(l.mark, l.stamp)) }

// Sealed returns the flag in l, and whether all sealed words have arrived. The seal does not match
// a partly copied line, unless the missing words equal the old ones.
func (l *Line) Sealed() (f Flag, whole bool) {
	stamp, mark := atomic.LoadUint64(&l.stamp), atomic.LoadUint64(&l.mark)
	return flagOf(stamp, mark), atomic.LoadUint64(l.seal()) == sealOf(mark, stamp)
}

// seal returns the word of the seal, which takes the place of a chunk.
func (l *Line) seal() *uint64 { return (*uint64)(unsafe.Pointer(&l.Short)) }

// sealOf returns different seals for two pairs that differ in exactly one component.
func sealOf(mark, stamp uint64) uint64 { return mark ^ stamp*0x9E3779B97F4A7C15 }

// Holds reports whether l holds f. Loads before the call saw the line while it held f.
func (l *Line) Holds(f Flag) bool {
	stamp := f.Seq<<fromBits | uint64(f.From)&(1<<fromBits-1)
	return atomic.LoadUint64(&l.mark) == f.Mark && atomic.CompareAndSwapUint64(&l.stamp, stamp, stamp)
}

// Seq returns the operation number of the flag in l, or 0 if there is no flag yet.
func (l *Line) Seq() uint64 { return atomic.LoadUint64(&l.stamp) >> fromBits }

// Flag returns the flag in l.
func (l *Line) Flag() Flag {
	stamp := atomic.LoadUint64(&l.stamp)
	return flagOf(stamp, atomic.LoadUint64(&l.mark))
}

func flagOf(stamp, mark uint64) Flag {
	return Flag{Seq: stamp >> fromBits, Mark: mark, From: int(stamp & (1<<fromBits - 1))}
}

// Note puts to l the fingerprint of an operation that a rank has called. Both words hold a part of
// the number, so a reader that sees the whole number sees its fingerprint or none, in whatever order
// the words become visible.
func (l *Line) Note(seq uint64, fingerprint uint32) {
	put(&l.mark, uint64(fingerprint)<<32|seq&(1<<32-1))
	put(&l.stamp, seq<<fromBits)
}

// Noted returns the fingerprint that l holds for operation seq, which counts from 1. noted is false
// if l holds none for seq.
func (l *Line) Noted(seq uint64) (fingerprint uint32, noted bool) {
	stamp := atomic.LoadUint64(&l.stamp)
	mark := atomic.LoadUint64(&l.mark)
	return uint32(mark >> 32), seq > 0 && stamp == seq<<fromBits && uint32(mark) == uint32(seq)
}

// The lines of a window, in this order.
const (
	FlagLines   = 128                    // written by other ranks
	PostLines   = 128                    // written by the window's rank, without a chunk
	ChunkLines  = 32                     // written by the window's rank, with a chunk
	CallLines   = 128                    // written by the window's rank, with the fingerprints of its last broadcasts, if chunks lie in windows
	ChunkLine   = FlagLines + PostLines  // first line with a chunk
	CallLine    = ChunkLine + ChunkLines // first line with a fingerprint
	WindowLines = CallLine + CallLines   // number of lines
)

// Windows are the windows of a transport's ranks: memory that holds flags. Reading a flag costs one
// load. Flags and frames are not ordered with respect to each other. The windows of
// [Transport.Windows] belong to the first communicator; see [Sets] for those of others.
//
// Among ranks that share memory, writing a flag costs one store, and this rank can read the windows
// of all ranks that it reaches. Where network adapters write, it can read only its own window: the
// next Poll writes a flag, with a seal, and Post is not used.
//
// A line is written again only after all its readers have seen its flag. The transport does not
// know when that is; package core explains why it holds.
type Windows interface {
	// Window returns the WindowLines lines of a rank, or nil if this rank cannot read them. It can
	// always read its own. The lines are valid until Close.
	Window(rank int) []Line
	// Reaches reports whether Flag reaches a rank. It is false for this rank.
	Reaches(rank int) bool
	// Flag writes f to a line below FlagLines of a rank that it reaches, and wakes the rank if it
	// waits. The reader sees all flags of this rank before it is told of this rank's goodbye.
	Flag(to, line int, f Flag)
	// Post writes f to a line of this rank's window, from FlagLines on, for the ranks to, which
	// read it there. It wakes the ranks that wait.
	Post(line int, to []int, f Flag)
}

// CopiedTo is the length in bytes up to which a chunk in a window is always copied and never lent.
const CopiedTo = 4 << 10

// Shelves are windows that also hold chunks, for ranks that read them there. Receivers copy a chunk
// from the window of its sender. A lent chunk does not go through the window: receivers copy it
// directly from the sender's buffer.
type Shelves interface {
	Windows
	// Lay stores body and f in a line of this rank's window, from ChunkLine on, for the ranks to,
	// which it must reach. Each of them Collects it once; Lay wakes those that wait. ok is false,
	// and nothing is stored, if the line may not be written yet, or if body is too long to be
	// copied and cannot be lent to all of them.
	//
	// lent says that body is lent: it is longer than CopiedTo bytes, and receivers refer to it
	// until all have collected it, or until Revoke. If the line already holds a copied chunk of the
	// same number, Lay writes nothing. whole is the length of the message that body is a part of: a
	// lender waits for the receivers, which pays only for long messages.
	Lay(line int, to []int, f Flag, body []byte, whole int) (lent, ok bool)
	// Collect copies the chunk that lies with f in a line of a rank's window to dst, which has the
	// chunk's length. It returns false if the chunk is gone.
	Collect(rank, line int, f Flag, dst []byte) bool
	// Collected reports whether all receivers have collected the chunk lent in a line.
	Collected(line int) bool
	// Revoke takes back a lent chunk. Running and later calls of Collect for the chunk return
	// false.
	Revoke(line int)
	// Passed says that this rank collects nothing more of operations up to seq. As far as this rank
	// is concerned, lines that hold only chunks of these may be written again.
	Passed(seq uint64)
}

// WindowSets is how many communicators can have windows at a time. It is the number of sets of
// windows, which are numbered from 0; set 0 belongs to the first communicator.
const WindowSets = 8

// Sets are the windows of the first communicator, with further sets for other communicators. Ranks
// are those of the transport. Sets are reused, also for other ranks; several communicators without
// common ranks may use one set at the same time.
type Sets interface {
	Shelves
	// FreeSets returns the free sets at this rank as bits. A set is free if no communicator of this
	// rank has it, and no other member of its last communicator here will touch it again. A member
	// no longer touches the set after it has closed the set or its end of the transport.
	FreeSets() uint8
	// OpenSet returns the windows of a set for the communicator of members, which include this
	// rank. The set must be free at all of them. OpenSet empties this rank's window. epoch must be
	// greater than the epoch of any communicator that a member has been in. Members may write flags
	// only after all members have returned from OpenSet. With an error the set is closed here.
	OpenSet(set int, members []int, epoch uint32) (Shelves, error)
	// CloseSet says that this rank no longer writes or reads the windows of a set.
	CloseSet(set int)
}

// Copier is a transport that tells how often it copies a long chunk between ranks that share
// memory.
type Copier interface {
	// Copies returns 1 if long chunks are lent, and otherwise 2 and why this rank cannot collect
	// lent chunks. It returns 0 if this rank shares memory with no other rank.
	Copies() (n int, why error)
}
