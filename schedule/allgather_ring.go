package schedule

import "github.com/schedgen/schedgen/ir"

// allgatherRing passes every block along a ring (R. Thakur et al., 2005, §4.1). A rank puts its own
// block to the next rank, and then every block that it gets except the last. Every rank talks only
// to its neighbours, so the ring is as fast as its links, whatever network lies between them. It
// takes P-1 steps.
func allgatherRing() Algorithm {
	return spreadAlongRing().algorithm(Algorithm{
		Name:     "allgather/ring",
		Paper:    "Thakur 2005 §4.1",
		Summary:  "every rank passes each block to the next",
		Messages: "F·P(P-1) puts",
	})
}

func spreadAlongRing() spread {
	return spread{
		rounds: func(hosts int) int { return hosts - 1 },
		sends: func(l layout, v, i int) (to, first, hosts int) {
			return l.after(v, 1), l.after(v, -i), 1
		},
		gets: func(l layout, v, i int) (first, hosts int) { return l.after(v, -1-i), 1 },
		sum:  sumOfRing,

		fillFlat: fillFlatRing,
	}
}

// sumOfRing returns the same as sumOfRounds without going through all rounds. The node sends the
// blocks of its own host first, then the blocks of all other hosts except the next one.
func sumOfRing(n node) size {
	if n.hosts == 1 {
		return size{}
	}
	own, next := n.slaves()+1, n.ranksOf(n.after(n.v, 1), 1).n
	z := n.eachChunkSize(own, own)
	passed := n.ranks - own - next
	return z.plus(size{rules: n.hosts - 2, slots: passed, acts: passed}.times(n.chunks))
}

// fillFlatRing writes each rule directly, because a million ranks have a million rules each.
func fillFlatRing(n node, a arena) arena {
	if n.ranks == 1 {
		return a
	}
	next := n.master(n.after(n.v, 1))
	a.wait(ir.Enter)
	for f := range n.chunks {
		a.put(n.block(n.rank, f), next)
	}
	a.rule(a.span(0, 1))
	count := (n.ranks - 2) * n.chunks
	from := len(a.rules)
	a.rules, a.slots, a.acts = a.rules[:from+count], a.slots[:1+count], a.acts[:n.chunks+count]
	a.open = len(a.acts)
	slots, acts, rules := a.slots[1:], a.acts[n.chunks:], a.rules[from:]
	slots, acts = slots[:len(rules)], acts[:len(rules)]
	slot, f := n.block(n.after(n.rank, -1), 0), 0
	for i := range slots {
		slots[i] = slot
		acts[i] = ir.Action{Op: ir.Put, Slot: slot, To: int32(next)}
		slot++
		if f++; f == n.chunks {
			f = 0
			if slot -= ir.Slot(2 * n.chunks); slot < ir.Chunk(0) { // after the block of rank 0
				slot = n.block(n.ranks-1, 0)
			}
		}
	}
	// The memory of a Maker may still hold the rules of another rank. If these use the same slices
	// of the same arrays, they are right already. Rules are three quarters of the memory.
	if i := len(rules) - 1; i >= 0 && len(rules[i].When) == 1 && len(rules[i].Do) == 1 &&
		&rules[i].When[0] == &slots[i] && &rules[i].Do[0] == &acts[i] {
		return a
	}
	for i := range rules {
		rules[i] = ir.Rule{When: slots[i : i+1 : i+1], Do: acts[i : i+1 : i+1]}
	}
	return a
}
