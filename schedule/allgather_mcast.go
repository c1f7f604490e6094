package schedule

import "github.com/schedgen/schedgen/ir"

// allgatherMcast is the two-stage allgather of UCC's tl_mlx5. Every rank multicasts its own block.
// A ring passes every block on, as in allgather/ring, and so repairs lost multicasts. As in
// bcast/mcast-chain, a rule that passes on a chunk fires whether the multicast or the ring has
// brought the chunk. So a rank that a multicast reaches passes the block on at once.
//
// A rank multicasts its block before it puts the block, because one multicast serves all ranks. All
// ranks multicast at the same time, so no rank plays the part of a root. There is no parameter
// hosts: in the order of the ranks the ring leaves each host only once.
func allgatherMcast() Algorithm {
	return Algorithm{
		Name:       "allgather/mcast",
		Collective: Allgather,
		Paper:      "UCC tl_mlx5",
		Summary:    "two stages at once: every rank multicasts its block, and a ring makes that reliable",
		Messages:   "F·P mcasts, F·P(P-1) puts",
		Params:     []string{"chunks"},
		casts:      true,
		size:       sizeAllgatherMcast,
		fill:       fillAllgatherMcast,
	}
}

func sizeAllgatherMcast(n node) size {
	z := size{slots: n.othersSize()}
	if n.ranks == 1 {
		return z
	}
	passed := n.chunks * (n.ranks - 2)
	return z.plus(size{rules: 1 + passed, slots: 1 + passed, acts: 2*n.chunks + passed})
}

func fillAllgatherMcast(n node, a arena) ir.Program {
	if n.ranks > 1 {
		next := n.after(n.v, 1)
		a.wait(ir.Enter)
		for f := range n.chunks {
			a.acts = append(a.acts, ir.McastOf(n.block(n.rank, f)))
		}
		for f := range n.chunks {
			a.put(n.block(n.rank, f), next)
		}
		a.rule(a.span(0, 1))
		for d := 1; d < n.ranks-1; d++ { // the block of the next rank has come all the way round
			for f := range n.chunks {
				from := len(a.slots)
				a.wait(n.block(n.after(n.v, -d), f))
				a.put(a.slots[from], next)
				a.rule(a.span(from, from+1))
			}
		}
	}
	from := len(a.slots)
	a.waitForOthers(&n)
	return a.program(&n, 0, a.span(from, len(a.slots)))
}
