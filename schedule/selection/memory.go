package selection

import (
	"math"
	"math/bits"

	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// memory is the model of ranks that share memory and the cores of one host. Its times are in ns.
//
// A message takes the time of its copies. A byte comes out of the sender's memory, by the system, or
// through a ring: its sender copies it in, once for all receivers of a multicast, and each receiver
// copies it out. Copies of different receivers overlap as far as there are cores. With more ranks
// than cores, ranks also wait for their turn on a core: once for each multicast and each level
// of acknowledgements, once for two lent chunks, and whenever a ring is full.
type memory struct {
	pace  *wire.Pace
	ranks int
	waves float64 // receivers that copy one after another
	turns float64 // until all ranks have had their core
}

func newMemory(c *Case) memory {
	p := c.Pace.Or()
	return memory{pace: p, ranks: c.Ranks, waves: float64(p.Waves(c.Ranks)), turns: p.Turns(c.Ranks)}
}

// cut returns the number of chunks of a broadcast of some bytes by an algorithm.
func (m *memory) cut(algorithm string, bytes int) float64 {
	return float64(Chunks(Message{Algorithm: algorithm, Ranks: m.ranks, Bytes: bytes, Memory: true, Datagram: castBytes}))
}

const (
	// castBytes is the payload of a multicast in memory.
	castBytes = 64 << 10
	// casting is what a multicast costs beside its copies, in yields: ranks look for it behind
	// everything else, and tell each other that it has come.
	casting = 2
)

// ring returns the time in which one rank copies bytes into a ring, or out of one.
func (m *memory) ring(bytes int) float64 {
	return float64(m.pace.Ring) / 2000 * float64(bytes)
}

// linear returns the time of a broadcast by puts of the root to all others.
func (m *memory) linear(bytes int) float64 {
	// While receivers on other cores empty their rings, the root fills them anew.
	chunks, room := m.cut("bcast/linear", bytes), wire.RingBytes(m.ranks)
	if bytes <= room && m.turns > 0 || !m.pace.Lends(bytes/int(chunks), m.ranks-1, m.ranks) {
		fills := max(0, float64(bytes)/float64(room)-1)
		last := min(bytes, room)
		if m.pace.Cores == 1 {
			last = bytes
		}
		return float64(m.ranks-1)*m.ring(bytes) + m.waves*m.ring(last) + fills*m.pace.Full(m.ranks)
	}
	pulled := float64(m.pace.Pull) / 1000 * float64(bytes)
	return m.waves*(chunks*float64(m.pace.Call)+pulled) + math.Ceil(chunks/2)*m.turns
}

// multicast returns the time of a broadcast that the root writes once.
func (m *memory) multicast(bytes int) float64 {
	turns := m.cut("bcast/mcast-acktree", bytes) + 1
	if m.pace.Cores > 2 { // on two cores, one turn brings all acknowledgements down the tree
		turns += float64(bits.Len(uint(m.ranks-1)) - 1)
	}
	return (1+m.waves)*m.ring(bytes) + turns*m.turns + casting*float64(m.pace.Yield)
}

// chained returns the time of a multicast for which the root awaits no acknowledgement. On one core
// each rank finds all chunks in its first turn, as far as its rings hold what the chain sends. On
// several cores it takes a turn for each chunk, as multicast does, and saves nothing.
func (m *memory) chained(bytes int) float64 {
	if m.pace.Cores > 1 || bytes > wire.RingBytes(m.ranks) {
		return math.Inf(1)
	}
	return (1+m.waves)*m.ring(bytes) + casting*float64(m.pace.Yield)
}

// placed is an algorithm that a Modelled rule can choose where ranks share memory.
type placed struct {
	rule Rule
	time func(m *memory, bytes int) float64
}

// sharing are the algorithms among which Modelled rules choose where ranks share memory, in the
// order in which they are tried.
var sharing = [...]placed{
	{Rule{Collective: schedule.Bcast, Memory: With, Algorithm: "bcast/linear",
		Reason: "shared memory: the fewest copies, or the fastest ones, on this machine"}, (*memory).linear},
	{Rule{Collective: schedule.Bcast, Memory: With, Multicast: With, Algorithm: "bcast/mcast-acktree",
		Reason: "shared memory: on this machine it pays that the root writes it once"}, (*memory).multicast},
	{Rule{Collective: schedule.Bcast, Memory: With, Multicast: With, Algorithm: "bcast/mcast-chain",
		Reason: "one core: the root writes it once, and all read it in their turn"}, (*memory).chained},
}

// sooner is the part of the time of bcast/linear that a multicast may take at most: nothing is lost, and
// so nothing repaired, where nothing is multicast.
const sooner = 0.95

// modelledInMemory returns the rule for the algorithm that takes the least time in the model of the
// ranks' memory, or nil if the model does not have the collective.
func modelledInMemory(c *Case) (fastest *Rule) {
	m, least := newMemory(c), math.Inf(1)
	for i := range sharing {
		p := &sharing[i]
		if p.rule.Collective != c.Collective || !p.rule.Multicast.has(c.Multicast) {
			continue
		}
		if took := p.time(&m, c.Bytes); fastest == nil || took < sooner*least {
			fastest, least = &p.rule, took
		}
	}
	return fastest
}
