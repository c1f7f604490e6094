package schedule

import "github.com/schedgen/schedgen/ir"

// crossing is an alltoall. An alltoall has a block for each pair of ranks: block s·P+d goes from
// rank s to rank d. Among hosts an item holds the blocks from all ranks of one host to all ranks of
// another. Items to the same host go in one message.
//
// On each host the slaves put all their blocks to their master in one message. After it has served
// other hosts, the master puts to each slave the blocks for that slave: the blocks of its own host,
// and the blocks of every message from another host.
type crossing struct {
	// sends returns the size of what fillSends writes: the rules that put blocks to other hosts.
	sends     func(n node) size
	fillSends func(n node, a arena) arena
	// deliveries returns how many messages with blocks for its own ranks a host gets. delivery
	// returns the hosts from which the blocks of one message come, as a virtual rank and a number
	// of hosts.
	deliveries func(hosts int) int
	delivery   func(l layout, v, i int) (first, hosts int)
	// passes returns how many slots fillPasses writes. fillPasses writes the slots of chunk f of
	// the blocks that come from other hosts and go to other hosts. Both are nil if there are no
	// such blocks.
	passes     func(n node) int
	fillPasses func(n node, a arena, f int) arena
}

func (c crossing) algorithm(a Algorithm) Algorithm {
	a.Collective = Alltoall
	a.Params = unrootedParams()
	a.size, a.fill = c.size, c.fill
	a.slaves = slaves{sizeAlltoallSlave, fillAlltoallSlave}
	return a
}

// pair returns chunk f of the block from rank s to rank d.
func (n *node) pair(s, d, f int) ir.Slot { return n.block(s*n.ranks+d, f) }

// waitPairs writes the slots of chunk f of the blocks from ranks to ranks. It leaves out the blocks
// from the node, which it holds, and the blocks for the node.
func (a *arena) waitPairs(n *node, from, to run, f int) {
	for i := range from.n {
		s := n.at(from, i)
		for j := 0; j < to.n && s != n.rank; j++ {
			if d := n.at(to, j); d != n.rank && d != s {
				a.wait(n.pair(s, d, f))
			}
		}
	}
}

// putPairs adds puts of chunk f of the blocks from ranks to ranks. All go to rank dest, which may
// pass them on.
func (a *arena) putPairs(n *node, from, to run, f, dest int) {
	for i := range from.n {
		s := n.at(from, i)
		for j := range to.n {
			if d := n.at(to, j); d != s {
				a.put(n.pair(s, d, f), dest)
			}
		}
	}
}

func (c crossing) size(n node) size {
	k := n.slaves()
	others := n.ranks - 1 - k // ranks of other hosts
	z := c.sends(n)
	waited := k*others + k*(n.ranks-2) // for slaves, and from slaves for any rank except the master
	if c.passes != nil {
		waited += c.passes(n)
	}
	z.slots += max(1, n.chunks*(n.ranks-1+waited))
	if k > 0 {
		z = z.plus(n.eachChunkSize(1+k*(k-1), k*k))
		z.rules += n.chunks * c.deliveries(n.hosts)
		z.slots += n.chunks * k * others
		z.acts += n.chunks * k * others
	}
	return z
}

func (c crossing) fill(n node, a arena) ir.Program {
	a = c.fillSends(n, a)
	own := n.ranksOf(n.v, 1)
	if n.slaves() > 0 {
		a.deliver(&n, own, true)
		for i := range c.deliveries(n.hosts) {
			first, hosts := c.delivery(n.layout, n.v, i)
			a.deliver(&n, n.ranksOf(first, hosts), false)
		}
	}
	done := len(a.slots)
	a.waitForPairs(&n)
	for f := 0; f < n.chunks && n.ranks > 1; f++ {
		a.waitPairs(&n, own, n.all(), f)
		if n.hosts > 1 {
			a.waitPairs(&n, n.ranksOf(n.after(n.v, 1), n.hosts-1), own, f)
		}
		if c.passes != nil {
			a = c.fillPasses(n, a, f)
		}
	}
	return a.program(&n, 0, a.span(done, len(a.slots)))
}

// deliver puts the blocks of some ranks to the node's slaves, to each slave its own.
func (a *arena) deliver(n *node, from run, own bool) {
	host := n.ranksOf(n.v, 1)
	a.eachChunk(n, func(f int) {
		if own {
			a.wait(ir.Enter)
		}
		a.waitPairs(n, from, host, f)
	}, func(f int) {
		for i := range n.slaves() {
			start, slave := len(a.acts), n.slave(i)
			a.putPairs(n, from, run{slave, 1}, f, slave)
			a.join(start)
		}
	})
}

// waitForPairs writes all chunks of the blocks for the node, ascending, or enter if there are none.
func (a *arena) waitForPairs(n *node) {
	if n.ranks == 1 {
		a.wait(ir.Enter)
	}
	for s := range n.ranks {
		for f := 0; f < n.chunks && s != n.rank; f++ {
			a.wait(n.pair(s, n.rank, f))
		}
	}
}

func sizeAlltoallSlave(n node) size {
	return size{rules: 1, slots: 1 + n.othersSize(), acts: n.othersSize()}
}

func fillAlltoallSlave(n node, a arena) ir.Program {
	a.wait(ir.Enter)
	for f := range n.chunks {
		from := len(a.acts)
		a.putPairs(&n, run{n.rank, 1}, n.all(), f, n.master(n.v))
		a.join(from)
	}
	a.rule(a.span(0, 1))
	a.waitForPairs(&n)
	return a.program(&n, 0, a.span(1, len(a.slots)))
}

// directDeliveries and directDelivery describe an alltoall in which blocks go straight from host to
// host. The messages come from the nearest host before first.
func directDeliveries(hosts int) int { return hosts - 1 }

func directDelivery(l layout, v, i int) (first, hosts int) { return l.after(v, -1-i), 1 }
