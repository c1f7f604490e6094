package schedule

import (
	"math/bits"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// skipRingAlgorithm is the rootless broadcast on a skip ring (paper 001, §2). skipRing defines the
// channels and the forwarding. The program of a rank puts the only chunk to the ranks that
// skipRing.Forward returns.
func skipRingAlgorithm() Algorithm {
	return Algorithm{
		Name:       "anycast/skip-ring",
		Collective: Anycast,
		Paper:      "001 §2",
		Summary:    "rootless: any rank at any time, along the channels of a skip ring",
		Messages:   "P-1 puts a message",
		Params:     anycastParams(),
		size:       sizeSkipRing,
		fill:       fillSkipRing,
		overlay:    func(ranks int) Overlay { return skipRing{ranks} },
	}
}

func sizeSkipRing(n node) size {
	var buf [maxChannels]int
	to := skipRing{n.ranks}.projected(buf[:0], n.rank, n.root)
	return size{rules: count(len(to) > 0), slots: 1, acts: len(to)}
}

func fillSkipRing(n node, a arena) ir.Program {
	var buf [maxChannels]int
	a.wait(ir.Chunk(0))
	if n.rank == n.root {
		a.slots[0] = ir.Enter
	}
	for _, to := range (skipRing{n.ranks}).projected(buf[:0], n.rank, n.root) {
		a.put(ir.Chunk(0), to)
	}
	a.rule(a.span(0, 1))
	return a.program(&n, 0, a.span(0, 1))
}

// skipRing is the overlay of a number of ranks (paper 001, §2.1). The level of a node is the number
// of trailing zeros of its number. Node 0 has the highest level of the other nodes (0 in a ring of
// two). On each level l up to its own, a node links to the next node of level ≥ l, which is 2^l
// further. The last node of a level links to node 0.
//
// Forwarding is the two rules of §2.2:
//
//  1. A message of this node, or from a node of a lower level, is new here and goes to all
//     channels. Any other goes to lower levels only.
//  2. Nothing is put to the origin, or to a node behind it in the direction of the ring, seen from
//     the node that forwards.
//
// The rules leave two things open. The first does not matter: which way messages go between nodes
// of the same level. Only node 0 and one other node share a level and a channel, and rule 2 stops
// second copies. The second matters: the level of node 0. If it were lower than the highest, a
// message from the last node would count as old there, and most of the ring would never get it.
// With the highest level, the rules hold for every number of ranks and every origin, in at most
// 2⌈log2 P⌉-2 hops for P > 2.
//
// The rules also leave the order of a node's puts open. In LogGP the order of the levels, nearest
// first, takes twice as long on average as the one here: 55.5 µs in place of 33 among 64 nodes,
// 122.5 in place of 55 among 1,024 (from node 0, 1 byte, LogGOPSim's parameters). Farthest first is
// nearly right, but at the end of the ring the farthest may lead to few nodes. So a node puts to
// the largest sub-tree first: the nodes up to its next channel, or up to the origin. Where a
// message climbs to a higher level other than node 0's, the sub-tree counts double, since it climbs
// on there and goes deeper than in others of that size. This is never longer than farthest first,
// and as short as any order in 1,136 of 1,144 cases (doc.go, Order).
type skipRing struct{ ranks int }

// maxChannels bounds the channels of a node: one a level.
const maxChannels = 21

// level returns the level of a node.
func (o skipRing) level(rank int) int {
	if rank == 0 {
		return max(0, bits.Len(uint(o.ranks-1))-1)
	}
	return bits.TrailingZeros(uint(rank))
}

// link returns where the channel of the given level leads.
func (o skipRing) link(rank, level int) int {
	if to := rank + 1<<level; to < o.ranks {
		return to
	}
	return 0
}

func (o skipRing) Channels(dst []int, rank int) []int {
	if o.ranks == 1 {
		return dst
	}
	for l := range o.level(rank) + 1 {
		to := o.link(rank, l)
		dst = append(dst, to)
		if to == 0 {
			break // so would be the channels of all higher levels
		}
	}
	return dst
}

func (o skipRing) Forward(dst []int, rank, origin, from int) []int {
	first := len(dst)
	keep := first
	dst = o.Channels(dst, rank)
	own := o.level(rank)
	isNew := rank == origin || o.level(from) < own
	left := o.ahead(rank, origin)
	for _, to := range dst[first:] {
		if o.ahead(rank, to) < left && (isNew || o.level(to) < own) {
			dst[keep] = to
			keep++
		}
	}
	o.largestFirst(dst[first:keep], rank, left)
	return dst[:keep]
}

// largestFirst sorts channels of rank from the order of the ring into the order of sending, for a
// message whose origin is left nodes ahead.
func (o skipRing) largestFirst(to []int, rank, left int) {
	type branch struct{ to, weight int }
	var buf [maxChannels]branch
	branches, end := buf[:0], left
	for _, t := range slices.Backward(to) {
		at := o.ahead(rank, t)
		weight := end - at // nodes of the sub-tree
		if t != 0 && o.level(t) > o.level(rank) {
			weight *= 2
		}
		branches, end = append(branches, branch{t, weight}), at
	}
	slices.SortStableFunc(branches, func(a, b branch) int { return b.weight - a.weight })
	for i, b := range branches {
		to[i] = b.to
	}
}

// ahead returns the distance from rank to the node to on the ring, which is a whole turn for rank
// itself.
func (o skipRing) ahead(rank, to int) int {
	d := to - rank
	if d <= 0 {
		d += o.ranks
	}
	return d
}

// projected appends where rank sends a message of origin, whoever sent it here.
func (o skipRing) projected(dst []int, rank, origin int) []int {
	return o.Forward(dst, rank, origin, o.Sender(rank, origin))
}

// sender returns the node from which rank gets a message of origin. A new message climbs from the
// origin to the next node of a higher level, and so on, up to node 0. Every node beside that path
// gets it from the nearest node of a higher level before it, whose number lacks the lowest set bit.
func (o skipRing) Sender(rank, origin int) int {
	at := origin
	for at != 0 && at != rank {
		next := o.link(at, o.level(at))
		if next == rank {
			return at
		}
		at = next
	}
	if rank == origin {
		return origin
	}
	return rank & (rank - 1)
}
