package schedule

import "github.com/schedgen/schedgen/ir"

// alltoallBruck is the index operation of J. Bruck et al. (1997, §3). A block whose destination is
// j ranks after its source moves by 2^i in round i for every bit i of j. It moves in one message
// with all blocks at the same rank whose distance has that bit. A rank sends ⌈log2 P⌉ messages
// instead of P-1, of about half of the blocks each. So the algorithm is for short blocks.
//
// Among the blocks with bit i, consider the blocks with distances h·2^(i+1) + 2^i + l for l = 0, 1
// … 2^i-1. Before round i they are l ranks after their sources, and they are for the same rank.
//
// The paper rotates the blocks before and after. That is not necessary here, because blocks have
// numbers.
func alltoallBruck() Algorithm {
	return crossing{
		sends:      sizeAlltoallBruck,
		fillSends:  fillAlltoallBruck,
		deliveries: logRounds,
		delivery: func(l layout, v, i int) (first, hosts int) {
			most := min(2<<i, l.hosts) - 1 // the farthest source whose last step is this one
			return l.after(v, -most), most - 1<<i + 1
		},
		passes:     passesOfBruck,
		fillPasses: fillPassesOfBruck,
	}.algorithm(Algorithm{
		Name:     "alltoall/bruck",
		Paper:    "Bruck 1997 §3",
		Summary:  "round i: all blocks whose way has bit i move 2^i ranks, in one message",
		Messages: "F·P⌈log2 P⌉ puts",
		relays:   true,
	})
}

// bundle is the items of a round that are for one host.
type bundle struct {
	to      int // the host, a virtual rank
	sources int // number of source hosts: the host itself and the hosts just before it
}

// bundles calls f for all bundles that v sends in round i.
func (l *layout) bundles(v, i int, f func(b bundle)) {
	for j := 1 << i; j < l.hosts; j += 2 << i {
		f(bundle{l.after(v, j), min(1<<i, l.hosts-j)})
	}
}

func sizeAlltoallBruck(n node) (z size) {
	for i := range logRounds(n.hosts) {
		all, own := n.blocksOfBruck(i)
		z = z.plus(n.eachChunkSize(1+all-own, all))
	}
	return z
}

// blocksOfBruck returns how many blocks the node sends in round i, and how many of them are its
// own. If hosts have several ranks, it takes time in proportion to the number of hosts.
func (n *node) blocksOfBruck(i int) (all, own int) {
	if n.flat() {
		return withBit(n.hosts, i), (n.hosts - 1<<i + 2<<i - 1) >> (i + 1)
	}
	n.bundles(n.v, i, func(b bundle) {
		ranks := n.ranksOf(b.to, 1).n
		all += n.ranksOf(n.after(n.v, 1-b.sources), b.sources).n * ranks
		own += ranks
	})
	return all, own
}

// withBit returns how many of the numbers 0 … n-1 have bit i set.
func withBit(n, i int) int {
	return n>>(i+1)<<i + max(0, n&(2<<i-1)-1<<i)
}

func fillAlltoallBruck(n node, a arena) arena {
	for i := range logRounds(n.hosts) {
		to := n.master(n.after(n.v, 1<<i))
		a.eachChunk(&n, func(f int) {
			a.wait(ir.Enter)
			n.bundles(n.v, i, func(b bundle) {
				for s := range b.sources {
					a.waitPairs(&n, n.ranksOf(n.after(n.v, -s), 1), n.ranksOf(b.to, 1), f)
				}
			})
		}, func(f int) {
			start := len(a.acts)
			n.bundles(n.v, i, func(b bundle) {
				for s := range b.sources {
					a.putPairs(&n, n.ranksOf(n.after(n.v, -s), 1), n.ranksOf(b.to, 1), f, to)
				}
			})
			a.join(start)
		})
	}
	return a
}

func passesOfBruck(n node) (passes int) {
	for i := range logRounds(n.hosts) {
		all, own := n.blocksOfBruck(i)
		passes += all - (n.slaves()+1)*own
	}
	return passes
}

func fillPassesOfBruck(n node, a arena, f int) arena {
	for i := range logRounds(n.hosts) {
		n.bundles(n.v, i, func(b bundle) {
			for s := 1; s < b.sources; s++ {
				a.waitPairs(&n, n.ranksOf(n.after(n.v, -s), 1), n.ranksOf(b.to, 1), f)
			}
		})
	}
	return a
}
