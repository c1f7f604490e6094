package schedule

import "github.com/schedgen/schedgen/ir"

// Collectives of many blocks. On hosts a master carries the blocks of all ranks of its host. Among
// ranks it would be one block; among hosts it is a bundle, and goes in one message. A block of F
// chunks goes in F messages. The first message has the first chunks of all blocks, and so on, so
// the parts of a long block travel one behind the other.

// run is the ranks first, first+1 …, n of them. Rank 0 follows the last rank.
type run struct{ first, n int }

// at returns rank i of r, 0 ≤ i < r.n.
func (l *layout) at(r run, i int) int {
	rank := r.first + i
	if rank >= l.ranks {
		rank -= l.ranks
	}
	return rank
}

// ranksOf returns the ranks of the given number of hosts, whose virtual ranks are v, v+1 … modulo
// the number of hosts.
func (l *layout) ranksOf(v, hosts int) run {
	from := l.real(v)
	r := run{first: l.first(from)}
	if to := from + hosts; to <= l.hosts {
		r.n = l.first(to) - r.first
	} else {
		r.n = l.ranks - r.first + l.first(to-l.hosts)
	}
	return r
}

// after returns the virtual rank that is d after v, |d| ≤ hosts.
func (l *layout) after(v, d int) int {
	switch v += d; {
	case v < 0:
		return v + l.hosts
	case v >= l.hosts:
		return v - l.hosts
	}
	return v
}

// all returns all ranks in their order.
func (l *layout) all() run { return run{0, l.ranks} }

// block returns chunk f of a block.
func (n *node) block(block, f int) ir.Slot { return ir.Chunk(block*n.chunks + f) }

// waitBlocks writes the slots of chunk f of the blocks of r, without the node's own block.
func (a *arena) waitBlocks(n *node, r run, f int) {
	for _, part := range n.without(r, n.rank) {
		from := len(a.slots)
		a.slots = a.slots[:from+part.n]
		next, step := n.block(part.first, f), ir.Slot(n.chunks)
		for i, slots := 0, a.slots[from:]; i < len(slots); i++ {
			slots[i] = next
			next += step
		}
	}
}

// without returns the ranks of r except one, as runs that do not go beyond the last rank. Some of
// the runs may be empty. Loops over many ranks use these runs, so they need not check each rank.
func (l *layout) without(r run, rank int) (parts [3]run) {
	low := min(r.n, l.ranks-r.first) // the number of ranks up to the last one
	parts[0], parts[1] = run{r.first, low}, run{0, r.n - low}
	for i, p := range parts[:2] {
		if before := rank - p.first; 0 <= before && before < p.n {
			parts[2] = parts[1] // if i is 1, it is replaced below
			parts[i], parts[i+1] = run{p.first, before}, run{rank + 1, p.n - before - 1}
			return parts
		}
	}
	return parts
}

// putBlocks adds a message with chunk f of the blocks of r, without the block of its destination.
func (a *arena) putBlocks(n *node, r run, f, to int) {
	joins := false
	for _, part := range n.without(r, to) {
		from := len(a.acts)
		a.acts = a.acts[:from+part.n]
		next, step := n.block(part.first, f), ir.Slot(n.chunks)
		for i, acts := 0, a.acts[from:]; i < len(acts); i++ {
			acts[i] = ir.Action{Op: ir.Put, Joins: joins, Slot: next, To: int32(to)}
			next += step
			joins = true
		}
	}
}

// join makes one message of the actions from the given one on.
func (a *arena) join(from int) {
	for i := from + 1; i < len(a.acts); i++ {
		a.acts[i].Joins = true
	}
}

// eachChunk writes a rule for every f: waits writes the slots that it waits for, and puts writes
// its actions. If all rules wait only for enter, eachChunk writes one rule.
func (a *arena) eachChunk(n *node, waits, puts func(f int)) {
	for f := range n.chunks {
		from := len(a.slots)
		waits(f)
		when := a.span(from, len(a.slots))
		if len(when) == 1 && when[0] == ir.Enter {
			for f := range n.chunks {
				puts(f)
			}
			a.rule(when)
			return
		}
		puts(f)
		a.rule(when)
	}
}

// eachChunkSize returns the size of what eachChunk writes if a rule waits for waits slots and puts
// puts chunks. A rule that waits for one slot waits for enter.
func (n *node) eachChunkSize(waits, puts int) size {
	if waits == 1 {
		return size{rules: 1, slots: 1, acts: n.chunks * puts}
	}
	return size{rules: n.chunks, slots: n.chunks * waits, acts: n.chunks * puts}
}

// times returns the size of count things of size z.
func (z size) times(count int) size {
	return size{count * z.rules, count * z.slots, count * z.acts, count * z.peers}
}

func (z size) plus(y size) size {
	return size{z.rules + y.rules, z.slots + y.slots, z.acts + y.acts, z.peers + y.peers}
}

// waitForOthers writes all chunks of the blocks of all other ranks, ascending, or enter if there
// are no other ranks.
func (a *arena) waitForOthers(n *node) {
	if n.ranks == 1 {
		a.wait(ir.Enter)
	}
	a.waitRange(0, n.rank*n.chunks)
	a.waitRange((n.rank+1)*n.chunks, n.ranks*n.chunks)
}

// othersSize returns how many slots waitForOthers writes.
func (n *node) othersSize() int { return max(1, n.chunks*(n.ranks-1)) }

// contribute writes the rule by which a slave puts its block to its master.
func (a *arena) contribute(n *node) {
	a.wait(ir.Enter)
	for f := range n.chunks {
		a.put(n.block(n.rank, f), n.master(n.v))
	}
	a.rule(a.span(0, 1))
}

// usesBlocks writes that the rule begun at from uses chunk f of the blocks of a host's ranks.
func (a *arena) usesBlocks(n *node, host, from, f int) {
	for rank := n.first(host); rank < n.first(host+1); rank++ {
		a.uses(from, n.block(rank, f))
	}
}
