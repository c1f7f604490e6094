package selection

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/schedule"
)

// maxTried bounds how often a check compares a case with a rule. The number grows with the number
// of rules times the numbers of distinct bounds of ranks, bytes and hosts. A table of 600 rules for
// 20 numbers of ranks and 30 sizes needs 2 million.
const maxTried = 1 << 26

// cover returns an error if a rule of the collective is idle, or if the collective has rules but
// none of them fits some case. All cases between two neighbouring bounds fit the same rules, so
// cover tries one of them.
func cover(list []Rule, collective string) error {
	own := of(list, collective)
	if len(own) == 0 {
		return nil
	}
	g := newGrid(collective, own)
	used, gap, err := g.try(own)
	if err != nil {
		return own[0].blame(err)
	}
	if i := slices.Index(used, false); i >= 0 {
		return own[i].blame(g.idle(own[:i], own[i]))
	}
	if gap != nil {
		last := own[len(own)-1]
		return last.blame(fmt.Errorf("%s: no rule fits %v; add a last rule without conditions, such as %q", collective, gap, BuiltIn))
	}
	return nil
}

// of returns the rules of a collective.
func of(list []Rule, collective string) (own []*Rule) {
	for i := range list {
		if list[i].Collective == collective {
			own = append(own, &list[i])
		}
	}
	return own
}

// try returns which rules decide a case, and a case that no rule fits, if there is one.
func (g *grid) try(own []*Rule) (used []bool, gap *Case, err error) {
	if tried := float64(len(g.ranks)) * float64(len(g.bytes)) * float64(len(g.hosts)+4) * 2 * float64(len(own)); tried > maxTried {
		return nil, nil, fmt.Errorf("%s: %d rules with %d different bounds of ranks and %d of bytes are too many to be checked",
			g.collective, len(own), len(g.ranks), len(g.bytes))
	}
	used = make([]bool, len(own))
	g.each(func(c *Case) {
		decided := false
		for i, r := range own {
			if r.fits(c) {
				used[i], decided = true, true
				if !r.passedOver() {
					return
				}
			}
		}
		if !decided && gap == nil {
			gap = new(*c)
		}
	})
	return used, gap, nil
}

// grid holds the bounds of rules: the numbers from which on other rules fit.
type grid struct {
	collective          string
	ranks, bytes, hosts []int
}

func newGrid(collective string, rules []*Rule) grid {
	g := grid{collective, []int{1}, []int{0}, []int{2}}
	for _, r := range rules {
		g.ranks = append(g.ranks, r.Ranks.From, r.Ranks.To)
		g.bytes = append(g.bytes, r.Bytes.From, r.Bytes.To)
		g.hosts = append(g.hosts, r.Hosts.From, r.Hosts.To)
	}
	g.ranks = bounds(g.ranks, 1, schedule.MaxRanks)
	g.bytes = bounds(g.bytes, 0, maxBytes)
	g.hosts = bounds(g.hosts, 2, schedule.MaxRanks-1)
	return g
}

// maxBytes is the length of the longest message.
const maxBytes = int(^uint(0) >> 1)

// bounds returns the distinct numbers in lo … hi, ascending.
func bounds(of []int, lo, hi int) []int {
	of = slices.DeleteFunc(of, func(v int) bool { return v < lo || v > hi })
	slices.Sort(of)
	return slices.Compact(of)
}

// each calls f with one case for each kind of possible case, in which there is an MPI. Only ranks of one host share memory,
// and only with shared memory does Rings matter. The number of hosts matters if it is at least two
// and less than the number of ranks.
func (g *grid) each(f func(*Case)) {
	for i, ranks := range g.ranks {
		last := schedule.MaxRanks
		if i+1 < len(g.ranks) {
			last = g.ranks[i+1] - 1
		}
		for _, bytes := range g.bytes {
			for _, multicast := range []bool{false, true} {
				c := Case{Collective: g.collective, Ranks: ranks, Bytes: bytes, Multicast: multicast, MPI: true}
				g.eachPlace(c, last, f)
			}
		}
	}
}

func (g *grid) eachPlace(c Case, last int, f func(*Case)) {
	f(&c)
	local := c
	local.Place = OneHost
	f(&local)
	local.Memory = true
	for _, local.Rings = range []bool{false, true} {
		f(&local)
	}
	if last > 1 {
		single := c
		single.Place, single.Ranks = OneEach, max(c.Ranks, 2)
		f(&single)
	}
	c.Place = Anywhere
	for _, c.Hosts = range g.hosts {
		if c.Hosts >= last {
			break
		}
		c.Ranks = max(c.Ranks, c.Hosts+1)
		f(&c)
	}
}

// idle says why no case is left for a rule.
func (g *grid) idle(before []*Rule, r *Rule) error {
	var first *Rule
	g.each(func(c *Case) {
		if first == nil && r.fits(c) {
			first = before[slices.IndexFunc(before, func(b *Rule) bool { return b.fits(c) })]
		}
	})
	switch {
	case first == nil:
		return fmt.Errorf("the rule is idle: no case meets its conditions")
	case first.Line > 0:
		return fmt.Errorf("the rule is idle: rules before it, the first in line %d, fit all its cases", first.Line)
	}
	return fmt.Errorf("the rule is idle: rules before it fit all its cases")
}

// String describes a case in one line.
func (c *Case) String() string {
	s := fmt.Sprintf("%d ranks", c.Ranks)
	if c.Ranks == 1 {
		s = "1 rank"
	}
	if sized(c.Collective) {
		s += fmt.Sprintf(", %d bytes", c.Bytes)
	}
	if c.Hosts > 0 {
		s += fmt.Sprintf(", %d hosts", c.Hosts)
	}
	if c.Place != Anywhere {
		s += ", " + c.Place.String()
	}
	if c.Memory {
		s += ", shared memory"
	}
	if c.Rings {
		s += ", faster through rings"
	}
	if c.Multicast {
		return s + ", multicast"
	}
	return s + ", no multicast"
}
