package loss

import "github.com/schedgen/schedgen/internal/core/internal/moment"

// Config is what a rank knows of its network.
type Config struct {
	Repair   moment.Time // base timeout of repairs
	Direct   bool        // there are datagrams to one rank
	Datagram int         // bytes of a datagram
}

// Message is an operation that begins.
type Message struct {
	Chunks int
	Bytes  int     // upper limit of the bytes of all blocks
	Root   int     // the rank that multicasts
	Ask    []int32 // ranks that this rank asks for what it lacks, in turn; empty: puts bring everything
	Asked  bool    // other ranks may ask this rank
}

// Facts are what a rank knows of an operation outside of its Losses, at the time of a step.
type Facts interface {
	// Lacks reports whether chunk k has not arrived and may still come.
	Lacks(k int) bool
	// Pending reports whether a repair of the schedule is still wanted.
	Pending(rule int32) bool
	// Unsent reports whether frames of the operation have not left this rank, or wait.
	Unsent() bool
}

// Output is something for the rank to send.
type Output struct {
	Do      Action
	To      int      // not for TellAtWork and TellWhole, whose receiver the schedule names, if any
	Chunk   int      // Give, GiveParts
	Lo, Hi  int      // GiveParts: fragments Lo to Hi-1
	Request *Request // AskParts, AskChunks
}

// Action is what an Output asks for.
type Action uint8

// The actions.
const (
	AskParts   Action = iota // a request for fragments, by datagram
	AskChunks                // a request for chunks, by put
	Give                     // the put of a chunk
	GiveParts                // fragments of a chunk, in one datagram frame
	TellAtWork               // a report that this rank asks for what it lacks
	TellWhole                // a report that this rank has all chunks
)
