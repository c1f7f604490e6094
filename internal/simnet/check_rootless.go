package simnet

import (
	"bytes"
	"slices"

	"github.com/schedgen/schedgen/internal/core"
)

// took checks a rootless message that a process has taken.
func (c *checker) took(p *process, m *core.Message) {
	c.w.note(noteTook, p.rank, nil, m.Origin)
	if m.Seq != p.taken[m.Origin] {
		c.fail("rank %d takes message %d of rank %d instead of %d", p.rank, m.Seq, m.Origin, p.taken[m.Origin])
		return
	}
	p.taken[m.Origin]++
	p.scratch = c.letter(p.scratch, m.Origin, m.Seq, c.letterBytes(m.Origin, m.Seq))
	if !bytes.Equal(p.scratch, m.Data) {
		c.fail("rank %d takes message %d of rank %d with wrong bytes", p.rank, m.Seq, m.Origin)
	}
}

// checkFlushed checks that all ranks have the messages that a rank has flushed, except ranks that
// have left or whose calls have failed.
func (c *checker) checkFlushed(p *process) {
	for _, other := range c.w.procs {
		if other == p || other.state >= closing || other.err != nil {
			continue
		}
		if came := other.core.Came(p.rank); came < p.flush {
			c.fail("rank %d has flushed %d messages, of which %d have come to rank %d", p.rank, p.flush, came, other.rank)
		}
	}
}

// maxCame is how many of the ranks that have gone, the lowest first, an agreement counts messages of;
// see package agree.
const maxCame = 4

// checkCame checks how many messages of lost ranks have come to the remaining ranks, as the error of
// a process says. They take no more messages after they have failed.
func (c *checker) checkCame(p *process, all *core.LostError) {
	gone := 0
	remain := func(other *process) bool {
		return !slices.Contains(all.Ranks, other.rank) && !other.healthy && !c.w.apart(p.rank, other.rank)
	}
	for _, other := range c.w.procs {
		if !remain(other) || other.state >= closing {
			gone++
		}
	}
	for _, rank := range all.Ranks {
		want := core.Came{Rank: rank, Least: ^uint64(0)}
		for _, other := range c.w.procs {
			if remain(other) {
				n := other.core.Came(rank)
				want.Least, want.Most = min(want.Least, n), max(want.Most, n)
			}
		}
		i := slices.IndexFunc(all.Came, func(of core.Came) bool { return of.Rank == rank })
		switch {
		case i >= 0 && all.Came[i] != want, i < 0 && gone <= maxCame && want.Most > 0:
			c.fail("rank %d says that of the messages of lost ranks have come %+v, instead of %+v", p.rank, all.Came, want)
		}
	}
}

// letter returns message seq of a rank, with at most most bytes.
func (c *checker) letter(dst []byte, origin int, seq uint64, most int) []byte {
	r := seeded(c.w.sc.Seed, 'm', uint64(origin), seq)
	n := r.below(most + 1)
	if cap(dst) < n {
		dst = make([]byte, n)
	}
	dst = dst[:n]
	r.fill(dst)
	return dst
}

// letterBytes returns the greatest length of message seq of a rank in bytes.
func (c *checker) letterBytes(origin int, seq uint64) int {
	for i := range c.w.sc.Script {
		o := &c.w.sc.Script[i]
		if o.Kind != OpPublish || o.Root >= 0 && o.Root != origin {
			continue
		}
		if seq < uint64(o.Count) {
			return o.Bytes
		}
		seq -= uint64(o.Count)
	}
	return 0
}

// expected returns how many messages a rank receives from the steps before step.
func (c *checker) expected(p *process, step int) (n int) {
	for i := range c.w.sc.Script[:step] {
		switch o := &c.w.sc.Script[i]; {
		case o.Kind != OpPublish || o.Root == p.rank:
		case o.Root < 0:
			n += o.Count * (c.w.sc.Ranks - 1)
		default:
			n += o.Count
		}
	}
	return n
}
