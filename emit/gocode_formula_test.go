package emit

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/windows"
	"github.com/schedgen/schedgen/schedule"
)

// ranked is a number of each rank of 24, with hosts and a root.
var ranked = ir.Schedule{Header: ir.Header{
	Collective: "bcast", Algorithm: "any", Ranks: 24, Root: 5, Chunks: 100,
	Params: []ir.Param{{Name: "fan", Value: 5}, {Name: "hosts", Value: 7}},
}}

func TestFormulas(t *testing.T) {
	f := newFinder(&ranked)
	n := &spelling{used: make(map[op]bool)}
	n.vars = [numVars]string{varRank: "rank", varPlace: "place", varHost: "host"}
	for want, value := range map[string]func(rank int) int{
		"7":                              func(int) int { return 7 },
		"rank":                           func(r int) int { return r },
		"23-rank":                        func(r int) int { return 23 - r },
		"3*rank+2":                       func(r int) int { return 3*r + 2 },
		"rank&(rank-1)":                  func(r int) int { return r & (r - 1) },
		"rank^4":                         func(r int) int { return r ^ 4 },
		"rank/5":                         func(r int) int { return r / 5 },
		"2*((rank-1)%5)+1":               func(r int) int { return 2*((r-1)%5) + 1 },
		"bits.TrailingZeros(uint(rank))": func(r int) int { return bits.TrailingZeros(uint(r)) },
		"(Chunks-rank)/5":                func(r int) int { return (100 - r) / 5 },
		"place+1":                        func(r int) int { return (r+19)%24 + 1 },
		"rank-rank%8+(rank+3)%8":         func(r int) int { return r/8*8 + (r+3)%8 },
		"members(host)":                  func(r int) int { return f.members(f.host(r)) },
		"max(0, min(5, Ranks-1-5*rank))": func(r int) int { return max(0, min(5, 23-5*r)) },
		"min(bits.TrailingZeros(uint(place)), bits.Len(uint(Ranks-1-place)))": func(r int) int {
			return min(bits.TrailingZeros(uint(f.place(r))), bits.Len(uint(23-f.place(r))))
		},
		"": func(r int) int { return r * r % 17 },
	} {
		c := &sought{each: func(visit func(sample) bool) {
			for r := range 24 {
				if !visit(sample{f.env(r), value(r)}) {
					return
				}
			}
		}}
		for _, fr := range f.frames {
			c.bases = append(c.bases, base{fr.own, fr})
		}
		e := f.find(c)
		if e == nil {
			require.Empty(t, want)
			continue
		}
		require.Equal(t, want, n.text(e))
	}
}

// A few numbers are no evidence for a formula that could give any.
func TestFormulasNeedEvidence(t *testing.T) {
	f := newFinder(&ranked)
	for values, found := range map[[3]int]bool{{1, 2, 3}: true, {3, 2, 1}: true, {4, 4, 4}: true, {1, 5, 2}: false, {0, 3, 6}: false} {
		c := &sought{bases: []base{{varRank, f.frames[0]}}, each: func(visit func(sample) bool) {
			for i, v := range values {
				if !visit(sample{f.env(9 + i), v}) {
					return
				}
			}
		}}
		require.Equal(t, found, f.find(c) != nil, values)
	}
}

// Every number of every role is at every rank what its formula says, or in the
// table; and of our algorithms, whatever their parameters, little is in tables.
func TestFormulasOfAlgorithms(t *testing.T) {
	for _, alg := range schedule.Algorithms() {
		for _, p := range manyParams(&alg) {
			name := fmt.Sprintf("%s %+v", alg.Name, p)
			s := of(t, alg.Name, p)
			f := newFinder(s)
			programs := roles(f, s, programsOf(s, f.layout))
			for _, ro := range programs {
				requireRight(t, ro, f, s, name)
			}
			requireFewNumbers(t, programs, s.Ranks, name)
			if windows.Has(s) {
				requireFewNumbers(t, roles(f, s, placesOf(s, f.layout, programs)), s.Ranks, name)
			}
		}
	}
}

// requireFewNumbers requires that each rank has a role, and that little of them is in tables.
func requireFewNumbers(t *testing.T, roles []*role, ranks int, name string) {
	numbers := 0
	for _, ro := range roles {
		ranks -= len(ro.ranks)
		numbers += ro.table.numbers()
	}
	require.Zero(t, ranks, name)
	require.LessOrEqual(t, numbers, 128, name)
}

func requireRight(t *testing.T, ro *role, f *finder, s *ir.Schedule, name string) {
	formulas := ro.numbers()
	for k, r := range ro.ranks {
		at := f.env(r)
		c := takeApart(s, f.layout, r)
		ro.words = nil
		for i, n := range c.numbers() {
			e := formulas[i].expr
			if n.free || formulas[i].free || i >= len(formulas) {
				continue
			}
			if v, ok := ro.value(e, k, &at); ok && !counters(c, n) {
				require.Equal(t, n.at(), v, "%s: rank %d, number %d", name, r, i)
			}
		}
	}
}

// counters reports whether n is the counter of a family, which a role numbers
// anew.
func counters(c *goCode, n *goNumber) bool {
	for _, f := range c.families {
		if n == &f.counter {
			return true
		}
	}
	return false
}

// value returns the value of an expression without loops at the role's k-th
// rank.
func (ro *role) value(e *expr, k int, at *env) (v int, ok bool) {
	if c := core(e); c != nil && c.op == opCell {
		at.vars[varSlot] = ro.table.cells[c.n][k]
		e = e.swap(c, variableOf(varSlot))
	}
	return e.at(at), !at.bad
}

// swap returns e with the one operand what replaced.
func (e *expr) swap(what, by *expr) *expr {
	if e == what {
		return by
	}
	c := *e
	c.args = nil
	for _, a := range e.args {
		c.args = append(c.args, a.swap(what, by))
	}
	return &c
}

// manyParams are parameters of all kinds.
func manyParams(alg *schedule.Algorithm) []schedule.Params {
	var all []schedule.Params
	many := []int{1, 2, 5, 8, 13, 24, 31, 64, 100}
	if heavy.Tests() {
		many = append(many, 300)
	}
	for _, ranks := range many {
		for _, p := range []schedule.Params{
			{}, {Root: ranks / 2}, {Root: ranks - 1}, {Chunks: 7, Root: 1}, {Degree: 2}, {Degree: 3}, {Degree: 5},
			{FanIn: 2, FanOut: 3}, {FanIn: 3, FanOut: 1}, {Hosts: (ranks + 2) / 3}, {Hosts: (ranks + 3) / 4, Root: ranks / 2},
		} {
			p.Ranks = ranks
			if _, err := schedule.New(alg.Name, p); err == nil {
				all = append(all, p)
			}
		}
	}
	return all
}
