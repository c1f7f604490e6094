package emit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir/windows"
	"github.com/schedgen/schedgen/schedule"
)

// The places of generated code are those that the runtime works out, for any number of
// ranks, degree, fans and hosts.
func TestPlacesAreThoseOfTheRuntime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := schedule.Params{Ranks: rapid.IntRange(1, 130).Draw(t, "ranks")}
		name := rapid.SampledFrom([]string{"barrier/hsb", "barrier/exchange", "barrier/dissemination"}).Draw(t, "name")
		if few := rapid.IntRange(2, 9); name == "barrier/hsb" {
			p.FanIn, p.FanOut = few.Draw(t, "fan-in")-1, few.Draw(t, "fan-out")-1
		} else {
			p.Degree = few.Draw(t, "degree")
		}
		if rapid.Bool().Draw(t, "on hosts") {
			p.Hosts = rapid.IntRange(1, p.Ranks).Draw(t, "hosts")
		}
		spec, err := schedule.New(name, p)
		if err != nil {
			t.Skip(err)
		}
		s := spec.Schedule()
		f := newFinder(s)
		programs := roles(f, s, programsOf(s, f.layout))
		ranks := 0
		for _, ro := range roles(f, s, placesOf(s, f.layout, programs)) {
			for k, rank := range ro.ranks {
				want, ok := windows.Of(rank, s.Ranks, spec.Program)
				require.True(t, ok)
				require.Equal(t, fmt.Sprint(want), fmt.Sprint(ro.placesAt(f, k)), "rank %d", rank)
				ranks++
			}
		}
		require.Equal(t, s.Ranks, ranks)
	})
}

// placesAt returns what the code of a role of places makes at the role's k-th rank.
func (ro *role) placesAt(f *finder, k int) (p windows.Places) {
	ro.eachAt(f, k, ro.places.awaits, p.Await)
	ro.eachAt(f, k, ro.places.posted, func(signal, _ int) { p.Posted(signal) })
	ro.eachAt(f, k, ro.places.posts, p.Post)
	return p
}

// eachAt goes through the actions of a run at the role's k-th rank.
func (ro *role) eachAt(f *finder, k int, run *repeat, visit func(slot, to int)) {
	at := f.env(ro.ranks[k])
	for _, s := range run.fitted {
		for i := range ro.at(s.outer.expr, k, &at) {
			at.vars[varI] = i
			for h := range ro.at(s.inner.expr, k, &at) {
				at.vars[varH] = h
				at.vars[varTo] = ro.at(s.at, k, &at)
				visit(ro.at(s.slot.expr, k, &at), ro.at(s.frame.rank(s.at), k, &at))
			}
		}
	}
}

// at returns the value of an expression at the role's k-th rank, tables included.
func (ro *role) at(e *expr, k int, at *env) int {
	c := *e
	c.args = nil
	for _, a := range e.args {
		c.args = append(c.args, lit(ro.at(a, k, at)))
	}
	switch e.op {
	case opCell:
		return ro.table.cells[e.n][k]
	case opListed:
		return ro.table.lists[e.n].rows[k][c.args[0].n]
	}
	return c.at(at)
}
