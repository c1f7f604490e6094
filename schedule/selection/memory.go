package selection

import (
	"math"
	"math/bits"

	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// memory is the model of ranks that share memory and the cores of one host. Its times are in ns.
//
// A message takes the time of its copies. A byte comes out of the sender's window or memory, or
// through a ring: its sender copies it in, once for all receivers of a multicast, and each receiver
// copies it out. Copies of different receivers overlap as far as there are cores. With more ranks
// than cores, ranks also wait for their turn on a core: once for each multicast and each level
// of acknowledgements, once for two lent chunks, and whenever a ring is full.
type memory struct {
	pace  *wire.Pace
	ranks int
	share float64 // ranks on a core
	waves float64 // receivers that copy one after another
	turns float64 // until all ranks have had their core
}

func newMemory(c *Case) memory {
	p := c.Pace.Or()
	m := memory{pace: p, ranks: c.Ranks, waves: float64(p.Waves(c.Ranks)), turns: p.Turns(c.Ranks)}
	m.share = m.onCore(c.Ranks)
	return m
}

// cut returns the number of chunks of a broadcast of some bytes by an algorithm.
func (m *memory) cut(algorithm string, bytes int) float64 {
	return float64(Chunks(Message{Algorithm: algorithm, Ranks: m.ranks, Bytes: bytes, Memory: true, Datagram: castBytes}))
}

const (
	// windowed is the greatest number of ranks whose blocks are in windows.
	windowed = 64
	// castBytes is the payload of a multicast in memory.
	castBytes = 64 << 10
	// casting is what a multicast costs beside its copies, in yields: ranks look for it behind
	// everything else, and tell each other that it has come.
	casting = 2
)

// ring returns the time in which one rank copies bytes into a ring, or out of one.
func (m *memory) ring(bytes float64) float64 { return float64(m.pace.Ring) / 2000 * bytes }

// pull returns the time in which the system copies bytes out of another rank's memory.
func (m *memory) pull(bytes float64) float64 {
	return float64(m.pace.Call) + float64(m.pace.Pull)/1000*bytes
}

// onCore returns how many of some ranks have one core.
func (m *memory) onCore(ranks int) float64 {
	cores := int(m.pace.Cores)
	return float64((ranks + cores - 1) / cores)
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
		return float64(m.ranks-1)*m.ring(float64(bytes)) + m.waves*m.ring(float64(last)) + fills*m.pace.Full(m.ranks)
	}
	return m.waves*(chunks-1)*float64(m.pace.Call) + m.waves*m.pull(float64(bytes)) + math.Ceil(chunks/2)*m.turns
}

// multicast returns the time of a broadcast that the root writes once. If all receivers copy at a time,
// they copy a datagram while the root writes the next one.
func (m *memory) multicast(bytes int) float64 {
	turns, levels := m.cut("bcast/mcast-acktree", bytes)+1, float64(bits.Len(uint(m.ranks-1)))
	if m.pace.Cores > 2 { // on two cores, one turn brings all acknowledgements down the tree
		turns += levels - 1
	}
	first := bytes
	if m.turns == 0 {
		first = min(bytes, castBytes)
	}
	return m.ring(float64(first)) + m.waves*m.ring(float64(bytes)) + turns*m.turns + max(m.waves, levels)*float64(m.pace.Line) + casting*float64(m.pace.Yield)
}

// chained returns the time of a multicast for which the root awaits no acknowledgement. On one core
// each rank finds all chunks in its first turn, as far as its rings hold what the chain sends. On
// several cores it takes a turn for each chunk, as multicast does, and saves nothing.
func (m *memory) chained(bytes int) float64 {
	if m.pace.Cores > 1 || bytes > wire.RingBytes(m.ranks) {
		return math.Inf(1)
	}
	return (1+m.waves)*m.ring(float64(bytes)) + casting*float64(m.pace.Yield)
}

// step is a part of an operation in which some ranks write messages and then some ranks take them.
type step struct {
	from, to int // ranks that write, and that take
	sent     int // messages that a rank writes
	readers  int // ranks that take each of them: it is written once into a window, or into the ring of each
	got      int // messages that a rank takes
	bytes    float64
	folds    bool // the takers fold
	joined   bool // messages of the operation have several parts, or no lines, so all go through rings
	ahead    bool // messages have been written before the takers come
	relayed  bool // some ranks pass on blocks of others, so no rank runs the operation at once
}

const (
	// handling is the time of a message beside its copies, in yields: of one in a ring, of one in a window
	// or lent, and of one in an operation that a rank runs at once. All are the time of code, as a yield
	// mostly is. They follow allreduces of 8 bytes to 64 KiB among 2, 4 and 8 ranks on an EPYC with two
	// cores.
	handling = 1.0
	found    = 0.5
	quickly  = 0.25
	// refilled is what a full ring costs a rank that also takes messages, in yields by the square of the
	// ranks on its core. It follows allreduces, allgathers and reduce-scatters of 512 KiB. A rank alone
	// on its core has Pace.Full.
	refilled = 1.5
	// crowding is by how much a pipeline takes longer where ranks share cores.
	crowding = 1.5
	// pieces is the number of parts of a ring that a message fills one after the other.
	pieces = 4
)

// load returns how many of some ranks that do something are on the busiest core, if the system has put
// them anywhere. It is nearer to the least, of ranks that are spread evenly, than to the most, of ranks
// that share cores with one another only. For ranks on two cores it is close to the mean.
func (m *memory) load(ranks int) float64 {
	least := m.onCore(ranks)
	return least + max(0, min(float64(ranks), m.share)-least)/float64(m.pace.Cores+1)
}

// step returns the time of a step of an operation on vectors or blocks of some bytes.
func (m *memory) step(vector int, s step) float64 {
	copied, line := m.ring(s.bytes), float64(m.pace.Line)
	turn := m.turns
	if s.from == 1 {
		turn /= 2 // no rank waits for the last of many
	}
	take, wait, handle := copied, turn, found
	writers, messages := m.load(s.from), float64(s.sent)
	if s.to == 1 {
		writers = max(1, m.share-1) // while others write, the taker takes the first messages
	}
	write := messages * (line + copied)
	switch room := float64(wire.RingBytes(m.ranks)); {
	case s.bytes <= float64(wire.RoomBytes(m.ranks)) && !s.joined: // in a window
	case !s.joined && (m.turns == 0 || float64(vector) > room) && m.pace.Lends(int(s.bytes), s.readers, m.ranks):
		write, take = messages*line, m.pull(s.bytes)
		wait = math.Ceil(float64(s.got)/2) * turn
	default:
		write, handle = write*float64(s.readers), handling
		full := m.pace.Full(m.ranks)
		if m.turns > 0 {
			full = refilled * m.share * m.share * float64(m.pace.Yield)
		} else if s.from+s.to <= m.ranks {
			write -= copied - m.ring(min(s.bytes, room/pieces)) // takers take the first piece while others are written
		}
		wait += max(0, s.bytes/room-1) * full
	}
	if vector <= wire.CopiedTo && !s.joined && !s.relayed && s.bytes == float64(vector) {
		handle = quickly
	}
	take += line + handle*float64(m.pace.Yield)
	if s.folds {
		take += float64(m.pace.Fold) / 1000 * s.bytes
	}
	if s.ahead {
		write = 0
	}
	return writers*write + m.load(s.to)*float64(s.got)*take + wait
}

// exchange is a step in which some ranks put one message to another one each.
func exchange(ranks int, bytes float64, folds, joined bool) step {
	return step{from: ranks, to: ranks, sent: 1, readers: 1, got: 1, bytes: bytes, folds: folds, joined: joined}
}

// linearFold returns the time of an allreduce in which all ranks fold all contributions.
func (m *memory) linearFold(bytes int) float64 {
	p := m.ranks
	return m.step(bytes, step{from: p, to: p, sent: 1, readers: p - 1, got: p - 1, bytes: float64(bytes), folds: true})
}

// star returns the time of an allreduce in which one rank folds for all.
func (m *memory) star(bytes int) float64 {
	others := m.ranks - 1
	return m.step(bytes, step{from: others, to: 1, sent: 1, readers: 1, got: others, bytes: float64(bytes), folds: true}) +
		m.step(bytes, step{from: 1, to: others, sent: 1, readers: others, got: 1, bytes: float64(bytes)})
}

// beyond returns the time of an allreduce among the largest power of two up to the ranks, in which each
// of those beyond tells another one what it has before, and hears the result after.
func (m *memory) beyond(bytes int, joined bool, within func(p2, rounds int) float64) float64 {
	rounds := bits.Len(uint(m.ranks)) - 1
	p2 := 1 << rounds
	time := within(p2, rounds)
	if left := m.ranks - p2; left > 0 {
		time += m.step(bytes, exchange(left, float64(bytes), true, joined)) + m.step(bytes, exchange(left, float64(bytes), false, joined))
	}
	return time
}

// beyondOnce is beyond without the result.
func (m *memory) beyondOnce(bytes int, joined bool, within func(p2, rounds int) float64) float64 {
	time := m.beyond(bytes, joined, within)
	if left := m.ranks &^ (1 << (bits.Len(uint(m.ranks)) - 1)); left > 0 {
		time -= m.step(bytes, exchange(left, float64(bytes), false, joined))
	}
	return time
}

// doubling returns the time of an allreduce by recursive doubling.
func (m *memory) doubling(bytes int) float64 {
	return m.beyond(bytes, false, func(p2, rounds int) float64 {
		return float64(rounds) * m.step(bytes, exchange(p2, float64(bytes), true, false))
	})
}

// halving returns the time of an allreduce by recursive halving, and back.
func (m *memory) halving(bytes int) float64 {
	joined := m.ranks > 2
	return m.beyond(bytes, joined, func(p2, rounds int) (time float64) {
		for part := float64(bytes) / 2; rounds > 0; rounds-- {
			time += m.step(bytes, exchange(p2, part, true, joined)) + m.step(bytes, exchange(p2, part, false, joined))
			part /= 2
		}
		return time
	})
}

// circulant returns the time of an allreduce along a circulant graph, and back.
func (m *memory) circulant(bytes int) (time float64) {
	joined := m.ranks > 3
	for left := m.ranks; left > 1; left = (left + 1) / 2 {
		sent := left / 2
		part := float64(bytes) / float64(m.ranks) * float64(sent)
		time += m.step(bytes, exchange(m.ranks, part, true, joined)) + m.step(bytes, exchange(m.ranks, part, false, joined))
	}
	return time
}

// twoShot returns the time of an allreduce in which each rank folds a piece of all contributions.
func (m *memory) twoShot(bytes int) float64 {
	p, piece := m.ranks, float64(bytes)/float64(m.ranks)
	framed := p > wire.ChunkLines/2 // there are too few lines for the pieces of a rank
	return m.step(bytes, step{from: p, to: p, sent: p - 1, readers: 1, got: p - 1, bytes: piece, folds: true, joined: framed}) +
		m.step(bytes, step{from: p, to: p, sent: 1, readers: p - 1, got: p - 1, bytes: piece, joined: framed})
}

// Blocks of all ranks. The blocks of a rank are in its window if they have lines there; others, and
// messages of several blocks, go through rings.

// apart reports whether blocks of each rank for each other one have no lines.
func (m *memory) apart() bool { return m.ranks > wire.ChunkLines/2+1 }

// many reports whether there are too many ranks for blocks in windows.
func (m *memory) many() bool { return m.ranks > windowed }

// scatter returns the time in which the root puts a block to each rank.
func (m *memory) scatter(bytes int) float64 {
	others := m.ranks - 1
	return m.step(bytes, step{from: 1, to: others, sent: others, readers: 1, got: 1, bytes: float64(bytes), joined: m.apart()})
}

// gather returns the time in which the root takes a block of each rank.
func (m *memory) gather(bytes int) float64 {
	others := m.ranks - 1
	return m.step(bytes, step{from: others, to: 1, sent: 1, readers: 1, got: others, bytes: float64(bytes), joined: m.many()})
}

// down returns the time in which a binomial tree carries blocks from the root or to it. Each block has a
// line of its own.
func (m *memory) down(bytes int) (time float64) {
	for size := 1; size < m.ranks; size *= 2 {
		pairs := max(1, (m.ranks+size-1)/(2*size)) // the last one may be short of ranks
		blocks, s := min(size, m.ranks-size), exchange(pairs, float64(bytes), false, m.apart())
		if s.joined {
			s.bytes *= float64(blocks)
		} else {
			s.sent, s.got, s.relayed = blocks, blocks, m.ranks > 2
		}
		time += m.step(bytes, s)
	}
	return time
}

// allgather returns the time in which each rank takes the blocks of all others where they are.
func (m *memory) allgather(bytes int) float64 {
	p := m.ranks
	return m.step(bytes, step{from: p, to: p, sent: 1, readers: p - 1, got: p - 1, bytes: float64(bytes), joined: m.many()})
}

// bruck returns the time of an allgather in which ranks pass on all blocks that they have.
func (m *memory) bruck(bytes int) (time float64) {
	for has := 1; has < m.ranks; has *= 2 {
		time += m.step(bytes, exchange(m.ranks, float64(bytes)*float64(min(has, m.ranks-has)), false, m.ranks > 2))
	}
	return time
}

// allToAll returns the time in which each rank puts a block to each other one.
func (m *memory) allToAll(bytes int) float64 {
	p := m.ranks
	return m.step(bytes, step{from: p, to: p, sent: p - 1, readers: 1, got: p - 1, bytes: float64(bytes), joined: m.apart()})
}

// rotate returns the time of an alltoall in which blocks go by the digits of their ways.
func (m *memory) rotate(bytes int) (time float64) {
	for digit := 1; digit < m.ranks; digit *= 2 {
		time += m.step(bytes, exchange(m.ranks, float64(bytes)*float64(m.ranks/2), false, m.ranks > 2))
	}
	return time
}

// foldAtRoot returns the time of a reduction in which the root folds all contributions.
func (m *memory) foldAtRoot(bytes int) float64 {
	others := m.ranks - 1
	return m.step(bytes, step{from: others, to: 1, sent: 1, readers: 1, got: others, bytes: float64(bytes), folds: true})
}

// foldUp returns the time of a reduction up a binomial tree. Unless the ranks are a power of two, some of
// its branches are short, and have written before the root comes to them.
func (m *memory) foldUp(bytes int) (time float64) {
	for size := 1; size < m.ranks; size *= 2 {
		s := exchange(max(1, (m.ranks+size-1)/(2*size)), float64(bytes), true, false)
		s.ahead = size > 1 && m.ranks&(m.ranks-1) != 0
		time += m.step(bytes, s)
	}
	return time
}

// foldHalves returns the time of a reduction by recursive halving, whose parts the root gathers.
func (m *memory) foldHalves(bytes int) float64 {
	joined := m.ranks > 2
	return m.beyondOnce(bytes, joined, func(p2, rounds int) (time float64) {
		part := float64(bytes) / 2
		for pairs := p2 / 2; rounds > 0; rounds-- {
			time += m.step(bytes, exchange(p2, part, true, joined))
			time += m.step(bytes, exchange(p2/2/pairs, part, false, joined))
			part, pairs = part/2, pairs/2
		}
		return time
	})
}

// foldParts returns the time of a reduce-scatter in which each rank folds its block of all.
func (m *memory) foldParts(bytes int) float64 {
	p := m.ranks
	return m.step(bytes, step{from: p, to: p, sent: p - 1, readers: 1, got: p - 1, bytes: float64(bytes), folds: true, joined: m.apart()})
}

// foldInPairs returns the time of a reduce-scatter in which each rank tells one other in each round.
func (m *memory) foldInPairs(bytes int) float64 {
	return float64(m.ranks-1) * m.step(bytes, exchange(m.ranks, float64(bytes), true, m.apart()))
}

// foldAround returns the time of a reduce-scatter along a circulant graph.
func (m *memory) foldAround(bytes int) (time float64) {
	for left := m.ranks; left > 1; left = (left + 1) / 2 {
		time += m.step(bytes, exchange(m.ranks, float64(bytes)*float64(left/2), true, m.ranks > 2))
	}
	return time
}

// prefixes returns the time of a scan by doubling.
func (m *memory) prefixes(bytes int) (time float64) {
	for hop := 1; hop < m.ranks; hop *= 2 {
		time += m.step(bytes, exchange(m.ranks-hop, float64(bytes), true, false))
	}
	return time
}

// passOn returns the time of a scan along a chain, whose ranks fold one chunk while the next one
// comes. The first chunk takes a turn for each rank. Chunks come together, because a rank takes all
// that are there before it passes one on.
func (m *memory) passOn(bytes int) float64 {
	chunks := m.cut("scan/chain", bytes)
	hops, busy := float64(m.ranks-1), float64(max(1, min(m.ranks-1, int(m.pace.Cores))))
	chunk := step{from: 1, to: 1, sent: 1, readers: 1, got: 1, bytes: float64(bytes) / chunks, folds: true, joined: chunks > wire.ChunkLines/2}
	work := m.step(bytes, chunk) - m.turns/2
	time := (chunks*hops/busy+busy-1)*work + hops*m.turns
	switch {
	case chunks == 1:
	case m.turns > 0:
		time *= crowding
	default:
		time += 1.5 * (hops - 1) * work
	}
	return time
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

	{Rule{Collective: schedule.Allreduce, Memory: With, Algorithm: "allreduce/doubling",
		Reason: "shared memory: the least time by what copies, folds and turns cost on this machine"}, (*memory).doubling},
	{Rule{Collective: schedule.Allreduce, Memory: With, Algorithm: "allreduce/linear",
		Reason: "shared memory: on this machine every rank reads all contributions soonest where they are"}, (*memory).linearFold},
	{Rule{Collective: schedule.Allreduce, Memory: With, Algorithm: "allreduce/star",
		Reason: "shared memory: on this machine it pays that one rank folds for all"}, (*memory).star},
	{Rule{Collective: schedule.Allreduce, Memory: With, Algorithm: "allreduce/circulant",
		Reason: "shared memory: on this machine the fewest bytes, in few messages, take the least time"}, (*memory).circulant},
	{Rule{Collective: schedule.Allreduce, Memory: With, Algorithm: "allreduce/two-shot",
		Reason: "shared memory: on this machine every rank reads and folds its piece soonest where it is"}, (*memory).twoShot},
	{Rule{Collective: schedule.Allreduce, Memory: With, Algorithm: "allreduce/halving",
		Reason: "shared memory: on this machine the fewest bytes take the least time"}, (*memory).halving},

	{Rule{Collective: "scatter", Memory: With, Algorithm: "scatter/linear",
		Reason: "shared memory: every rank takes its block where the root has it"}, (*memory).scatter},
	{Rule{Collective: "scatter", Memory: With, Algorithm: "scatter/binomial",
		Reason: "shared memory: on this machine it pays that the root sends fewer messages"}, (*memory).down},
	{Rule{Collective: "gather", Memory: With, Algorithm: "gather/linear",
		Reason: "shared memory: the root takes every block where its rank has it"}, (*memory).gather},
	{Rule{Collective: "gather", Memory: With, Algorithm: "gather/binomial",
		Reason: "shared memory: on this machine it pays that the root takes fewer messages"}, (*memory).down},
	{Rule{Collective: "allgather", Memory: With, Algorithm: "allgather/linear",
		Reason: "shared memory: all ranks take every block where its rank has it"}, (*memory).allgather},
	{Rule{Collective: "allgather", Memory: With, Algorithm: "allgather/bruck",
		Reason: "shared memory: on this machine the fewest messages take the least time"}, (*memory).bruck},
	{Rule{Collective: "alltoall", Memory: With, Algorithm: "alltoall/linear",
		Reason: "shared memory: every rank takes its blocks where the others have them"}, (*memory).allToAll},
	{Rule{Collective: "alltoall", Memory: With, Algorithm: "alltoall/bruck",
		Reason: "shared memory: on this machine the fewest messages take the least time"}, (*memory).rotate},
	{Rule{Collective: schedule.Reduce, Memory: With, Algorithm: "reduce/linear",
		Reason: "shared memory: the root reads all contributions where they are"}, (*memory).foldAtRoot},
	{Rule{Collective: schedule.Reduce, Memory: With, Algorithm: "reduce/binomial",
		Reason: "shared memory: on this machine it pays that several ranks fold"}, (*memory).foldUp},
	{Rule{Collective: schedule.Reduce, Memory: With, Algorithm: "reduce/halving",
		Reason: "shared memory: on this machine it pays that every rank folds a part"}, (*memory).foldHalves},
	{Rule{Collective: schedule.ReduceScatter, Memory: With, Algorithm: "reduce-scatter/linear",
		Reason: "shared memory: every rank reads its part of what all have where it is"}, (*memory).foldParts},
	{Rule{Collective: schedule.ReduceScatter, Memory: With, Algorithm: "reduce-scatter/circulant",
		Reason: "shared memory: on this machine the fewest messages take the least time"}, (*memory).foldAround},
	{Rule{Collective: schedule.ReduceScatter, Memory: With, Algorithm: "reduce-scatter/pairwise",
		Reason: "shared memory: on this machine ranks soonest take one block at a time"}, (*memory).foldInPairs},
	{Rule{Collective: schedule.Scan, Memory: With, Algorithm: "scan/doubling",
		Reason: "shared memory: the fewest rounds"}, (*memory).prefixes},
	{Rule{Collective: schedule.Scan, Memory: With, Algorithm: "scan/chain",
		Reason: "shared memory: on this machine the fewest bytes take the least time"}, (*memory).passOn},
}

// sooner is the part of the time of the choice so far that a later algorithm may take at most: the
// earlier one sends fewer messages, or multicasts nothing that has to be repaired if it is lost.
const sooner = 0.95

// modelledInMemory returns the rule for the algorithm that takes the least time in the model of the
// ranks' memory and folds as the case demands, or nil if there is none.
func modelledInMemory(c *Case) (fastest *Rule) {
	m, least := newMemory(c), math.Inf(1)
	for i := range sharing {
		p := &sharing[i]
		if p.rule.Collective != c.Collective || !p.rule.Multicast.has(c.Multicast) {
			continue
		}
		if took := p.time(&m, c.Bytes); (fastest == nil || took < sooner*least) && p.rule.serves(c) {
			fastest, least = &p.rule, took
		}
	}
	return fastest
}
