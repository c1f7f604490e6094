package selection

import (
	"math"
	"math/bits"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// Message is a block that is cut into chunks, and the network it crosses. All ranks of a
// communicator must ask for the same Message.
type Message struct {
	Algorithm string // the algorithm that moves it
	Ranks     int    // number of ranks, or of hosts if the algorithm runs between their masters
	// Blocks is the number of blocks of the operation. If there are several, a block is cut only if
	// Most says so. 0 means 1.
	Blocks   int
	Bytes    int  // bytes of one block
	Links    bool // its way crosses links between hosts
	RDMA     bool // adapters write messages into the memory of their receivers
	Memory   bool // all ranks share memory, and copy long chunks directly from the sender's buffer
	Datagram int  // payload of a multicast datagram; 0: no datagrams
	// Most is the maximum number of bytes of a chunk, as far as the bound on the number of chunks
	// allows. 0 means the best number.
	Most int
}

// Bounds of chunks.
const (
	maxChunks  = 1024     // number of chunks of a message
	chunkBytes = 32 << 10 // bytes of a chunk, or one datagram if that is less
	// A chunk that a rank copies from another rank's buffer takes a system call of 0.5 µs. In that
	// time the rank could copy 10 KB. Two ranks gain nothing from several chunks.
	lentBytes = 128 << 10
	maxLent   = 16 // number of chunks of a message; more do not fit the windows of ranks
	// Ranks that share cores put a message of up to this length into rings. Receivers copy the
	// first chunk while the sender puts the second.
	ringBytes = 64 << 10
	// A message that the root alone puts within a host is not cut below this length, because no
	// rank passes chunks on.
	linearBytes = 1 << 20
	// The ranks of a scan fold one half of a message that is longer while they receive the other. In
	// the LogGP model that takes up to 22 % less, and 22 % more among 4 ranks.
	prefixBytes = 8 << 10
	// chunkCost is the cost of a chunk besides its bytes, in bytes that a link carries in that
	// time. It covers about 100 bytes of headers, and the work at a rank, 4 µs at 1 Gbit/s.
	chunkCost = 512
	// MaxChunk is the largest length of a chunk in bytes, because a frame carries no more.
	MaxChunk = math.MaxInt32
)

// Chunks returns the number of chunks into which a message is cut. No chunk is longer than
// MaxChunk. The symmetric broadcast cuts by the number of ranks, whatever Most says.
func Chunks(m Message) int {
	a, _ := schedule.Named(m.Algorithm)
	return m.chunks(&a)
}

// chunks returns the number of chunks of a message by algorithm a, which m.Algorithm names.
func (m *Message) chunks(a *schedule.Algorithm) int { return AtLeast(m.best(a), m.Bytes) }

// AtLeast returns the smallest multiple of chunks with which no chunk of a message is longer than
// MaxChunk, as far as a schedule can have so many chunks.
func AtLeast(chunks, bytes int) int {
	if bytes/MaxChunk < chunks { // every chunk is at most that long
		return chunks
	}
	least := bytes/MaxChunk + min(1, bytes%MaxChunk)
	times := min((least-1)/chunks+1, schedule.MaxChunks/chunks)
	return max(1, times) * chunks
}

// best returns the number of chunks with which the message takes the least time.
func (m *Message) best(a *schedule.Algorithm) int {
	if n, cut := m.folded(a); n > 0 && cut {
		return m.multiple(n)
	} else if n > 0 {
		return n
	}
	switch {
	case a.Uncut():
		return 1
	case m.Algorithm == "bcast/symmetric":
		return m.fragments()
	case a.CutsItself():
		return m.multiple(a.DefaultChunks(m.Ranks))
	case m.Most > 0:
		return min(m.pieces(m.Most), max(1, ir.MaxChunks/max(m.Blocks, 1)))
	case m.Blocks > 1:
		return 1
	case m.Memory && !a.Multicasts():
		return m.inMemory()
	case m.Algorithm == "bcast/linear" && !m.Links:
		return m.pieces(linearBytes)
	case m.Algorithm == "bcast/chain" && m.Links:
		return m.pipeline(m.Ranks-2, chunkCost)
	case m.Algorithm == "bcast/two-tree" && m.Links:
		return m.pipeline(m.treeSteps(), chunkCost)
	case m.Datagram > 0:
		return m.pieces(min(m.Datagram, chunkBytes))
	}
	return m.pieces(chunkBytes)
}

// multiple returns n, or the multiple of n with which no chunk is much longer than Most.
func (m *Message) multiple(n int) int {
	if m.Most == 0 {
		return n
	}
	return n * max(1, m.pieces(m.Most)/n)
}

// inMemory returns the number of chunks that ranks copy from the sender's buffer or put into rings.
func (m *Message) inMemory() int {
	switch {
	case m.Ranks <= 2:
		return 1
	case m.Bytes <= ringBytes:
		return m.pieces(chunkBytes)
	}
	return min(m.pieces(lentBytes), maxLent)
}

// fragments returns the number of chunks of the symmetric broadcast to p ranks. It is p, or 1 for a
// small message, which the root then puts to all ranks (paper 004, §3). One chunk keeps the root's
// link busy for p·(n + chunkCost) bytes. Fragments keep it busy for p·(n/p + chunkCost) bytes, and
// then a destination's link for p-1 fragments. One chunk takes no longer if n·(p-1)²/p ≤
// (p-1)·chunkCost.
//
// Where adapters write messages, a long message has k·p fragments, because a destination receives
// one while it puts the one before. Then n/k + k·p·chunkCost bytes go beside the message, the least
// at k = √(n / (p chunkCost)). Over TCP, 15 hosts on two cores are no faster with them.
func (m *Message) fragments() int {
	p := max(m.Ranks-1, 1)
	if p == 1 || m.Bytes <= chunkCost*p/(p-1) {
		return 1
	}
	k := 1
	if m.RDMA {
		k = int(math.Sqrt(float64(m.Bytes) / float64(p*chunkCost)))
	}
	return p * max(1, min(k, maxChunks/p))
}

// pieces returns the number of chunks of at most most bytes.
func (m *Message) pieces(most int) int {
	return max(1, min(m.Bytes/most+min(1, m.Bytes%most), maxChunks))
}

// pipeline returns the number of chunks with which a pipeline takes the least time in which a chunk
// takes some steps more than its sender. With c chunks of n bytes in all, the last rank has them
// after steps+c times n/c + chunkCost bytes. The minimum is at c = √(steps n / chunkCost). c+1
// chunks take less than c as long as c (c+1) is below the square of that. Chunks that cost more than
// their bytes keep every rank busy, and wait for each other at each of them, so none is shorter than
// chunkCost.
func (m *Message) pipeline(steps, cost int) int {
	square := float64(max(steps, 0)) / float64(cost) * float64(m.Bytes)
	c := int(min(math.Sqrt(square), maxChunks))
	if float64(c)*float64(c+1) < square {
		c++
	}
	return max(m.pieces(chunkBytes), min(c, maxChunks, m.Bytes/cost))
}

// treeSteps returns the steps of a chunk down one of two trees: a rank sends it twice.
func (m *Message) treeSteps() int { return 2 * (bits.Len(uint(m.Ranks)) - 1) }
