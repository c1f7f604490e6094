package schedule

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

// TestExchangeRounds counts the rounds of the schedule for every N up to 300, or 4,096. It compares them with the algorithm's comment and with the bounds of paper 003, §4.2: ⌈log_n N⌉+2,
// and log_n N if N is a power of n.
func TestExchangeRounds(t *testing.T) {
	until := heavy.Or(300, 4096) // every degree has powers above 200
	for _, degree := range []int{2, 3, 6, 16} {
		t.Run(fmt.Sprintf("n=%d", degree), func(t *testing.T) {
			t.Parallel()
			var path criticalPath
			for ranks := 1; ranks <= until; ranks++ {
				want, most := statedRounds(ranks, degree), ceilLog(degree, ranks)+2
				if got := path.rounds(t, "barrier/exchange", Params{Ranks: ranks, Degree: degree}); got != want || got > most {
					t.Fatalf("N=%d: %d rounds, stated %d, at most %d", ranks, got, want, most)
				}
			}
		})
	}
}

// statedRounds returns the number of rounds that the comment of exchange states.
func statedRounds(ranks, degree int) int {
	steps, power := 0, 1
	for power*degree <= ranks {
		power *= degree
		steps++
	}
	switch extras := ranks - power; {
	case extras == 0:
		return steps
	case extras*degree <= power:
		return steps + 1
	default:
		return steps + 2
	}
}

// criticalPath counts the rounds of one barrier after the other without allocating memory. They are
// the rounds of package fixpoint for programs whose rules fire in order.
type criticalPath struct {
	programs []ir.Program
	rules    []ir.Rule
	slots    []ir.Slot
	acts     []ir.Action
	first    []int // by rank: the index of its first signal in set
	set      []int // by signal: the round in which it is set, 0: not yet
	fired    []int // by rank: number of rules that have fired
}

func (c *criticalPath) rounds(t *testing.T, name string, p Params) int {
	t.Helper()
	spec, err := New(name, p)
	require.NoError(t, err)
	c.fill(spec)
	for moved := true; moved; {
		moved = false
		for rank := range c.programs {
			moved = c.fire(rank) || moved
		}
	}
	last := 0
	for rank, p := range c.programs {
		if c.fired[rank] < len(p.Rules) {
			t.Fatalf("%+v: rank %d is stuck", spec.params, rank)
		}
		for _, s := range p.Done {
			last = max(last, c.round(rank, s))
		}
	}
	return last
}

// fill writes the programs over the programs of the previous barrier.
func (c *criticalPath) fill(s *Spec) {
	c.programs, c.rules, c.slots, c.acts = c.programs[:0], c.rules[:0], c.slots[:0], c.acts[:0]
	c.first, c.fired = c.first[:0], c.fired[:0]
	signals := 0
	for rank := range s.params.Ranks {
		n := s.node(rank)
		z := s.alg.size(n)
		p := s.alg.fill(n, arena{rules: cut(&c.rules, z.rules), slots: cut(&c.slots, z.slots), acts: cut(&c.acts, z.acts)})
		c.programs, c.first, c.fired = append(c.programs, p), append(c.first, signals), append(c.fired, 0)
		signals += p.Signals
	}
	c.set = append(c.set[:0], make([]int, signals)...)
}

// cut returns an empty slice of capacity n behind the used part of all.
func cut[T any](all *[]T, n int) []T {
	from := len(*all)
	if from+n > cap(*all) {
		*all = make([]T, 0, 2*(from+n)) // slices that have been cut stay where they are
		from = 0
	}
	*all = (*all)[:from+n]
	return (*all)[from : from : from+n]
}

// fire fires the next rule of a rank if it can.
func (c *criticalPath) fire(rank int) bool {
	p := &c.programs[rank]
	if c.fired[rank] == len(p.Rules) {
		return false
	}
	rule := &p.Rules[c.fired[rank]]
	at := 0
	for _, s := range rule.When {
		round := c.round(rank, s)
		if round == 0 && s != ir.Enter {
			return false
		}
		at = max(at, round)
	}
	c.fired[rank]++
	for _, a := range rule.Do {
		c.set[c.first[a.To]+a.Slot.Index()] = at + 1
	}
	return true
}

// round returns the round in which a slot is set. Enter is set in round 0.
func (c *criticalPath) round(rank int, s ir.Slot) int {
	if s == ir.Enter {
		return 0
	}
	return c.set[c.first[rank]+s.Index()]
}
