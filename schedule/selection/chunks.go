package selection

import (
	"math"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// Message is a block that is cut into chunks, and what it crosses. All ranks of a
// communicator must ask about the same.
type Message struct {
	Algorithm string // that broadcasts it
	Ranks     int    // or hosts, where it runs between their masters
	Blocks    int    // of the operation: one of several is cut only as far as Most says; 0 as 1
	Bytes     int    // of one block
	Links     bool   // there are links between hosts on its way
	Memory    bool   // all ranks share memory, and copy long chunks that are put from where they lie
	Datagram  int    // payload of a datagram of multicast; 0: there is none
	Most      int    // bytes of a chunk, as far as the bound on their number allows; 0: what is best
}

// The bounds of chunks.
const (
	maxChunks  = 1024     // of a message
	chunkBytes = 32 << 10 // of a chunk, or one datagram if that is less
	// A chunk that is copied from where it lies takes a system call: 0.5 µs in which 10 KB could be
	// copied. Two ranks gain nothing by several.
	lentBytes = 128 << 10
	maxLent   = 16 // of a message; more do not fit the windows of ranks
	// Ranks that share cores put a message of this length into rings, from which the first chunk is
	// copied while the second is put.
	ringBytes = 64 << 10
	// What the root alone puts, within a host, nobody passes on.
	linearBytes = 1 << 20
	// chunkCost is what each chunk costs besides its bytes, in bytes that a link
	// carries meanwhile: some 100 of heads, and the work at a rank, which is 4 µs at
	// 1 Gbit/s.
	chunkCost = 512
	// MaxChunk is how long a chunk is at most: a frame carries no more.
	MaxChunk = math.MaxInt32
)

// Chunks returns into how many chunks a message is cut, none of them longer than MaxChunk. The
// symmetric broadcast cuts by the number of ranks, whatever Most says.
func Chunks(m Message) int { return AtLeast(m.best(), m.Bytes) }

// AtLeast returns the least multiple of chunks in which no chunk of a message is longer than
// MaxChunk, so far as a schedule can have so many.
func AtLeast(chunks, bytes int) int {
	if bytes/MaxChunk < chunks { // nothing longer than that, or just that
		return chunks
	}
	least := bytes/MaxChunk + min(1, bytes%MaxChunk)
	times := min((least-1)/chunks+1, schedule.MaxChunks/chunks)
	return max(1, times) * chunks
}

// best returns the number of chunks with which the message takes the least time.
func (m *Message) best() int {
	if n, cut := m.folded(); n > 0 {
		if cut && m.Most > 0 {
			return n * max(1, m.pieces(m.Most)/n)
		}
		return n
	}
	switch {
	case m.Algorithm == "bcast/symmetric":
		return m.fragments()
	case m.Most > 0:
		return min(m.pieces(m.Most), max(1, ir.MaxChunks/max(m.Blocks, 1)))
	case m.Blocks > 1:
		return 1
	case m.Memory && !schedule.Multicasts(m.Algorithm):
		return m.inMemory()
	case m.Algorithm == "bcast/linear" && !m.Links:
		return m.pieces(linearBytes)
	case m.Algorithm == "bcast/chain" && m.Links:
		return m.pipeline()
	case m.Datagram > 0:
		return m.pieces(min(m.Datagram, chunkBytes))
	}
	return m.pieces(chunkBytes)
}

// inMemory returns the number of chunks that ranks copy from where they lie, or put into rings.
func (m *Message) inMemory() int {
	switch {
	case m.Ranks <= 2:
		return 1
	case m.Bytes <= ringBytes:
		return m.pieces(chunkBytes)
	}
	return min(m.pieces(lentBytes), maxLent)
}

// fragments returns the number of chunks of the symmetric broadcast to p ranks: p, or
// one for a small message, which the root then puts to all (paper 004, §3). One chunk
// takes the root's link for p·(n + chunkCost) bytes. Fragments take it for
// p·(n/p + chunkCost), and then a destination's for p-1 as long ones. The first is no
// more if n·(p-1)²/p ≤ (p-1)·chunkCost.
func (m *Message) fragments() int {
	p := max(m.Ranks-1, 1)
	if p == 1 || m.Bytes <= chunkCost*p/(p-1) {
		return 1
	}
	return p
}

// pieces returns how many chunks of so many bytes there are.
func (m *Message) pieces(most int) int {
	return max(1, min(m.Bytes/most+min(1, m.Bytes%most), maxChunks))
}

// pipeline returns the number of chunks with which a pipeline takes the least time:
// with c chunks of n bytes in all the last of P ranks has them after P-2+c times
// n/c + chunkCost bytes. That is least at c = √((P-2) n / chunkCost), and c+1 take less
// than c as long as c (c+1) is below the square of that.
func (m *Message) pipeline() int {
	square := float64(max(m.Ranks-2, 0)) / chunkCost * float64(m.Bytes)
	c := int(min(math.Sqrt(square), maxChunks))
	if float64(c)*float64(c+1) < square {
		c++
	}
	return max(m.pieces(chunkBytes), min(c, maxChunks))
}
