package schedule

import (
	"math/bits"

	"github.com/schedgen/schedgen/ir"
)

// Scans. Among hosts, every master gets its prefix: the fold of the contributions of the hosts
// before it. It may put on the fold up to its own host's contributions. While it waits, it folds
// the contributions of its slaves one behind the other. These folds are the local prefixes. At the
// end it folds its prefix with each local prefix and puts the results to the slaves. A host of one
// rank needs no separate prefix for a scan that includes each rank's own contribution.
//
// The partial results of a master are, in this order: the contributions that its slaves put to it,
// the local prefixes, and the partial results that rounds bring and make.

// prefix is a scan in rounds: in round i, v puts a partial result to the host skip(i) after it.
type prefix struct {
	exclusive bool
	few       bool // skips are 1, 2, 3, 6, 12 …; rounds after the first two put the prefix
}

// skip returns the distance of the destinations of round i.
func (p prefix) skip(i int) int {
	switch {
	case !p.few:
		return 1 << i
	case i < 2:
		return i + 1
	}
	return 3 << (i - 2)
}

// rounds returns how many rounds bring something to host d. Without few these are the rounds with a
// skip of at most d. With few, rounds after the first two need a skip below d, because host 0 has
// no prefix to put.
func (p prefix) rounds(d int) int {
	switch {
	case !p.few:
		return bits.Len(uint(d))
	case d < 4:
		return min(d, 2)
	}
	return 2 + bits.Len(uint((d-1)/3))
}

// gets returns the number of rounds in which v gets something. They are the first rounds.
func (p prefix) gets(v int) int { return p.rounds(v) }

// puts returns the number of rounds in which v puts something. They are the first rounds.
func (p prefix) puts(l *layout, v int) int {
	d := l.hosts - 1 - v
	switch {
	case p.few && v == 0:
		return min(d, 2)
	case p.few && d >= 3:
		return 2 + bits.Len(uint(d/3))
	case p.few:
		return d
	}
	return bits.Len(uint(d))
}

// makes says which partial results v makes from what it gets in round i. before is a longer prefix.
// upTo is the fold of the hosts of the prefix and of v itself. Results of the collective do not
// count.
func (p prefix) makes(l *layout, v, i int) (before, upTo bool) {
	last := i == p.gets(v)-1
	switch {
	case p.few:
		return i > 0 && !last, i == 0 && p.puts(l, v) > 1
	case p.exclusive:
		return i > 0 && !last, i+1 < p.puts(l, v)
	case l.slavesOf(v) == 0:
		return false, !last
	}
	return i > 0, !last && i+1 < p.puts(l, v)
}

// ofLocal returns how many partial results v has before the first round: the contributions of its
// slaves and the local prefixes. Do not call it for host 0, which gets nothing.
func (p prefix) ofLocal(l *layout, v int) int {
	return 2 * p.givers(l, v)
}

// givers returns how many slaves of v have contributions that a rank needs. In an exclusive scan no
// rank needs the contribution of the last rank.
func (p prefix) givers(l *layout, v int) int {
	k := l.slavesOf(v)
	return k - count(p.exclusive && k > 0 && v == l.hosts-1)
}

// at returns the partial result that round i brings to v.
func (p prefix) at(l *layout, v, i int) int {
	at := p.ofLocal(l, v)
	for j := range i {
		before, upTo := p.makes(l, v, j)
		at += 1 + count(before) + count(upTo)
	}
	return at
}

// local returns the fold of the contributions of the node's host up to rank i of the host.
func (p prefix) local(n *node, i, f int) ir.Slot {
	switch k := n.slaves(); {
	case i == 0:
		return ir.Input(f)
	case n.v > 0:
		return n.partial(p.givers(&n.layout, n.v)+i-1, f)
	case !p.exclusive:
		return n.block(n.rank+i, f)
	case i < k:
		return n.block(n.rank+i+1, f)
	default:
		return n.partial(k, f)
	}
}

// foldLocal writes the folds of the contributions of the node's host.
func (p prefix) foldLocal(n *node, a *arena, f int) {
	k := n.slaves()
	switch {
	case n.v > 0:
	case !p.exclusive:
		a.foldOne(n.block(n.rank, f), ir.Input(f))
	case k > 0:
		a.foldOne(n.block(n.rank+1, f), ir.Input(f))
	}
	for i := 1; i <= p.givers(&n.layout, n.v); i++ {
		a.foldTwo(p.local(n, i, f), p.local(n, i-1, f), n.partial(i-1, f))
	}
}

// foldResults writes the folds that make results from the prefix and the local prefixes, and the
// rules that put them to the slaves.
func (p prefix) foldResults(n *node, a *arena, before ir.Slot, f int) {
	k := n.slaves()
	for i := range k + 1 {
		switch c := n.block(n.rank+i, f); {
		case n.v == 0 || k == 0:
		case !p.exclusive:
			a.foldTwo(c, before, p.local(n, i, f))
		case i > 0:
			a.foldTwo(c, before, p.local(n, i-1, f))
		}
	}
	for i := 1; i <= k; i++ {
		from := a.begin()
		a.uses(from, n.block(n.rank+i, f))
		a.put(n.block(n.rank+i, f), n.rank+i)
		a.end(from)
	}
}

// write writes the program of a rank.
func (p prefix) write(n *node, a *arena) ir.Program {
	for f := range n.chunks {
		if !n.isMaster() {
			if c := n.ofChunk(f); n.slaveIndex() < p.givers(&n.layout, n.v) {
				a.contributeTo(n, &c)
			}
			continue
		}
		p.foldLocal(n, a, f)
		before := p.writeRounds(n, a, f)
		p.foldResults(n, a, before, f)
	}
	return p.program(n, a)
}

// writeRounds writes the rounds of a master. It returns the prefix, if results are to be made from
// it.
func (p prefix) writeRounds(n *node, a *arena, f int) (before ir.Slot) {
	k, gets, puts := n.slaves(), p.gets(n.v), p.puts(&n.layout, n.v)
	upTo := p.local(n, k, f)
	for i := range max(gets, puts) {
		if i < puts {
			s, to := upTo, n.v+p.skip(i)
			if p.few && i > 1 {
				s = before
			}
			a.putAs(s, n.master(to), n.partial(p.at(&n.layout, to, i), f))
		}
		if i >= gets {
			continue
		}
		at, last := p.at(&n.layout, n.v, i), i == gets-1
		theirs, made := n.partial(at, f), n.partial(at+1, f)
		longer, more := p.makes(&n.layout, n.v, i)
		if longer && more {
			more = false
			a.foldTwo(n.partial(at+2, f), theirs, upTo)
			upTo = n.partial(at+2, f)
		} else if more {
			a.foldTwo(made, theirs, upTo)
			upTo = made
		}
		switch c := n.block(n.rank, f); {
		case p.exclusive && last && i == 0:
			a.foldOne(c, theirs)
			before = c
		case p.exclusive && last:
			a.foldTwo(c, theirs, before)
			before = c
		case longer:
			a.foldTwo(made, theirs, before)
			before = made
		case i == 0:
			before = theirs
		}
		if !p.exclusive && last {
			if k == 0 {
				a.foldTwo(n.block(n.rank, f), theirs, upTo)
			}
			upTo = n.block(n.rank+k, f)
		}
	}
	return before
}

// program returns the finished program of a rank. A master also waits for the result of its last
// slave, or for the contribution of its host, which shows that all slaves have contributed.
func (p prefix) program(n *node, a *arena) ir.Program {
	from := len(a.slots)
	if !p.exclusive || n.rank > 0 {
		for f := range n.chunks {
			a.wait(n.block(n.rank, f))
		}
	}
	if k := n.slaves(); n.isMaster() && p.givers(&n.layout, n.v) > 0 {
		for f := range n.chunks {
			if p.exclusive && n.v < n.hosts-1 {
				a.wait(p.local(n, k, f))
			} else {
				a.wait(n.block(n.rank+k, f))
			}
		}
	}
	if len(a.slots) == from {
		a.wait(ir.Enter)
	}
	return a.program(n, 0, a.span(from, len(a.slots)))
}
