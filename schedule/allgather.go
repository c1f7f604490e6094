package schedule

import "github.com/schedgen/schedgen/ir"

// spread is an allgather among hosts in rounds. In each round a host sends the blocks of
// consecutive hosts to one other host, and gets as many blocks from another host. A rank waits for
// the blocks that it sends and never for a round, so rounds of different ranks may overlap.
//
// On each host the slaves put their blocks to their master. After it has served other hosts, the
// master puts to each slave the blocks that the slave lacks: first the host's own blocks in one
// message, then the blocks of each round.
type spread struct {
	rounds func(hosts int) int
	// sends returns the destination of v's message in a round, and the hosts whose blocks the
	// message has: the first one and their number. All are virtual ranks.
	sends func(l layout, v, round int) (to, first, hosts int)
	// gets returns the hosts whose blocks v gets in a round: the first one and their number.
	gets func(l layout, v, round int) (first, hosts int)
	// sum returns the size of the rules that send.
	sum func(n node) size
	// fillFlat writes the rules that send if each host is one rank. It writes the same rules as
	// fill, but faster. It is nil if there are too few rounds for that to matter.
	fillFlat func(n node, a arena) arena
	// together says that in all rounds a host sends only its own blocks. Then one rule sends a
	// chunk of them to all other hosts.
	together bool
}

// algorithm completes the description of an allgather.
func (s spread) algorithm(a Algorithm) Algorithm {
	a.Collective = Allgather
	a.Params = unrootedParams()
	a.size, a.fill = s.size, s.fill
	a.slaves = slaves{sizeAllgatherSlave, fillAllgatherSlave}
	return a
}

func (s spread) size(n node) size {
	z := s.sum(n)
	z.slots += n.othersSize()
	if k := n.slaves(); k > 0 {
		z = z.plus(n.eachChunkSize(1+k, k*k))
		others := n.ranks - k - 1
		z.rules += n.chunks * s.rounds(n.hosts)
		z.slots += n.chunks * others
		z.acts += n.chunks * others * k
	}
	return z
}

// sumOfRounds returns the size of the rules that send, by going through all rounds.
func (s spread) sumOfRounds(n node) (z size) {
	for i := range s.rounds(n.hosts) {
		_, first, hosts := s.sends(n.layout, n.v, i)
		blocks := n.ranksOf(first, hosts).n // enter takes the place of the node's own block
		z = z.plus(n.eachChunkSize(blocks, blocks))
	}
	return z
}

func (s spread) fill(n node, a arena) ir.Program {
	switch {
	case n.flat() && s.fillFlat != nil:
		a = s.fillFlat(n, a)
	case s.together:
		s.fillTogether(&n, &a)
	default:
		s.fillRounds(&n, &a)
	}
	if n.slaves() > 0 {
		a.spreadOnHost(&n, n.ranksOf(n.v, 1), true)
		for i := range s.rounds(n.hosts) {
			first, hosts := s.gets(n.layout, n.v, i)
			a.spreadOnHost(&n, n.ranksOf(first, hosts), false)
		}
	}
	from := len(a.slots)
	a.waitForOthers(&n)
	return a.program(&n, 0, a.span(from, len(a.slots)))
}

// fillRounds writes a rule for each round.
func (s spread) fillRounds(n *node, a *arena) {
	for i := range s.rounds(n.hosts) {
		to, first, hosts := s.sends(n.layout, n.v, i)
		blocks, own := n.ranksOf(first, hosts), n.after(n.v, -first) < hosts
		a.eachChunk(n, func(f int) {
			if own {
				a.wait(ir.Enter)
			}
			a.waitBlocks(n, blocks, f)
		}, func(f int) { a.putBlocks(n, blocks, f, n.master(to)) })
	}
}

// fillTogether writes one rule for all rounds.
func (s spread) fillTogether(n *node, a *arena) {
	if n.hosts == 1 {
		return
	}
	own := n.ranksOf(n.v, 1)
	a.eachChunk(n, func(f int) {
		a.wait(ir.Enter)
		a.waitBlocks(n, own, f)
	}, func(f int) {
		for i := range s.rounds(n.hosts) {
			to, _, _ := s.sends(n.layout, n.v, i)
			a.putBlocks(n, own, f, n.master(to))
		}
	})
}

// spreadOnHost puts blocks to the node's slaves. It leaves out each slave's own block.
func (a *arena) spreadOnHost(n *node, blocks run, own bool) {
	a.eachChunk(n, func(f int) {
		if own {
			a.wait(ir.Enter)
		}
		a.waitBlocks(n, blocks, f)
	}, func(f int) {
		for i := range n.slaves() {
			a.putBlocks(n, blocks, f, n.slave(i))
		}
	})
}

func sizeAllgatherSlave(n node) size {
	return size{rules: 1, slots: 1 + n.othersSize(), acts: n.chunks}
}

func fillAllgatherSlave(n node, a arena) ir.Program {
	a.contribute(&n)
	a.waitForOthers(&n)
	return a.program(&n, 0, a.span(1, len(a.slots)))
}
