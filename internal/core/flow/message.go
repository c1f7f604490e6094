package flow

import (
	"github.com/schedgen/schedgen/internal/core/internal/moment"
	"github.com/schedgen/schedgen/ir"
)

// Config is what a rank knows of its network.
type Config struct {
	Repair    moment.Time // base timeout of repairs
	Multicast bool        // there are multicasts
	Network   bool        // some ranks are on other hosts
	Room      int         // bytes of multicasts that fit into a receiver's buffer; 0: no limit
	Datagram  int         // bytes of a datagram; not 0 if Room is not 0
	Ahead     int         // operations that a rank may be ahead with its reports
}

// Message is an operation that begins.
type Message struct {
	Seq      uint64
	Print    uint32 // fingerprint
	Chunks   int
	Bytes    int          // upper limit of the bytes of all blocks
	Longest  int          // greatest length of a chunk in bytes
	Root     bool         // this rank is the root, which has all chunks
	Yields   bool         // its puts of chunks yield to the multicast
	Recovery *ir.Recovery // who reports to whom
}

const (
	// Flood is the greatest length in bytes of all blocks that several ranks multicast at once over
	// a network: half of the buffer of a small switch before a link.
	Flood = 64 << 10

	yieldBytes = 256 << 10 // shorter messages are put at once, if receivers have room for them
)

// Floods reports whether several ranks that multicast blocks at once, with so many bytes in all,
// lose most of them. A link drops most datagrams, and the rest take bandwidth from the puts, which
// bring everything.
func (c *Config) Floods(bytes int) bool { return bytes > Flood && c.Network }

// overNetwork reports whether puts of m may yield: m is long and goes over a network, or it
// overruns receivers. Within a host there is no link to spare, but receivers can be overrun there
// too.
func (c *Config) overNetwork(m *Message) bool {
	if !c.Multicast || c.Room == 0 {
		return false
	}
	if m.Bytes >= yieldBytes && c.Network {
		return true
	}
	return m.Chunks*Footprint(m.Longest, c.Datagram) > c.Room
}

// Footprint returns the bytes that a chunk takes in a receiver's buffer: whole datagrams.
func Footprint(chunk, datagram int) int {
	return max(1, (chunk+datagram-1)/datagram) * datagram
}
