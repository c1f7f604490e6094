package verify

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

// tiny returns good schedules small enough for the dumb checker.
func tiny(t testing.TB) []*ir.Schedule {
	var all []*ir.Schedule
	for _, alg := range Algorithms() {
		for ranks := 1; ranks <= 6; ranks++ {
			for _, p := range []Params{
				{Ranks: ranks}, {Ranks: ranks, Degree: 2}, {Ranks: ranks, FanIn: 2, FanOut: 1}, {Ranks: ranks, Root: ranks / 2, Chunks: 2},
				{Ranks: ranks, Hosts: 1 + ranks/3}, {Ranks: ranks, Root: ranks - 1, Chunks: 1, Hosts: 2},
			} {
				spec, err := NewSpec(alg.Name, p)
				if err != nil {
					continue
				}
				if s := spec.Schedule(); newDumb(s).fits() {
					all = append(all, s)
				}
			}
		}
	}
	return all
}

// clever returns the results of all checks, each on its own. It runs the checks after wellformed
// only if repairs are sound, because otherwise no fixpoint covers them.
func clever(t testing.TB, s *ir.Schedule) (bad map[string]error, sound bool) {
	bad = map[string]error{}
	sub, err := newSubject(s)
	require.NoError(t, err)
	_, bad["wellformed"] = proveWellformed(sub)
	sub.wellformed = bad["wellformed"] == nil
	if repairsStop(sub) != nil {
		return bad, false
	}
	for _, c := range Checks() {
		if c.Name != "wellformed" && c.Name != "reuse" && applies(c, s) {
			_, bad[c.Name] = c.prove(sub)
		}
	}
	return bad, true
}

func applies(c Check, s *ir.Schedule) bool {
	_, ok := c.scope.of(s)
	return ok
}

// compare compares both checkers and returns what the clever one has refuted.
func compare(t testing.TB, s *ir.Schedule, label string) []string {
	bad, sound := clever(t, s)
	d := newDumb(s)
	dumb := d.explore()
	require.Equal(t, !sound, dumb["repairs"], "repairs: %s\nclever: %v\n%s", label, bad["wellformed"], text(t, s))
	var refuted []string
	folded := foldsAnything(s)
	if folded {
		compareTerms(t, s, d, bad, label)
	}
	for _, c := range Checks() {
		err, ran := bad[c.Name]
		if !ran || folded && c.Name == "contributes" && (bad["wellformed"] != nil || bad["same-tree"] != nil) {
			continue // slots may have more than one term
		}
		if folded && (c.Name == "same-tree" || c.Name == "rank-order" || c.Name == "position" || c.Name == "in-place") {
			if c.Name == "same-tree" && err != nil && bad["wellformed"] == nil {
				refuted = append(refuted, c.Name)
			}
			continue // see compareTerms
		}
		if folded && !dumb[c.Name] && (dumb["wellformed"] || dumb["once"]) {
			// if a slot has several writers, the slots for which a fold's rule waits need not be
			// seen to be set
			continue
		}
		require.Equal(t, err != nil, dumb[c.Name], "%s: %s\nclever: %v\n%s", c.Name, label, err, text(t, s))
		if err != nil {
			requireCounterexample(t, err, label)
			requireSeen(t, d, c.Name, err, label)
			refuted = append(refuted, c.Name)
		}
	}
	return refuted
}

func requireCounterexample(t testing.TB, err error, label string) {
	var f *Failure
	require.ErrorAs(t, err, &f, label)
	require.NotEmpty(t, f.Text, label)
	require.NotContains(t, f.Text, "\n", label)
	require.NotContains(t, f.Text, "%!", label)
	require.NotEmpty(t, f.Ranks, label)
	require.NotEmpty(t, f.Places, label)
}

// requireSeen requires that the dumb checker has seen the counterexample.
func requireSeen(t testing.TB, d *dumb, check string, err error, label string) {
	var f *Failure
	require.ErrorAs(t, err, &f, label)
	switch check {
	case "barrier":
		require.True(t, d.left[[2]int{f.Ranks[0], f.Ranks[1]}], "%s: %v", label, f)
	case "acked":
		require.NotZero(t, d.unset&d.mask(f.Places[0].Rank, f.Places[0].Slot), "%s: %v", label, f)
	}
}

func text(t testing.TB, s *ir.Schedule) string {
	var b strings.Builder
	require.NoError(t, ir.WriteText(&b, s))
	return b.String()
}

func TestBothCheckersAcceptGoodSchedules(t *testing.T) {
	for _, s := range tiny(t) {
		require.Empty(t, compare(t, s, s.Name()), "%s\n%s", s.Name(), text(t, s))
	}
}

// byName groups schedules by algorithm.
func byName(all []*ir.Schedule) (names []string, groups map[string][]*ir.Schedule) {
	groups = map[string][]*ir.Schedule{}
	for _, s := range all {
		if groups[s.Name()] == nil {
			names = append(names, s.Name())
		}
		groups[s.Name()] = append(groups[s.Name()], s)
	}
	return names, groups
}

func TestBothCheckersAgreeOnMutants(t *testing.T) {
	names, groups := byName(tiny(t))
	// algorithms with repairs
	names = append(names, "bcast/mcast-acktree", "bcast/mcast-acktree", "barrier/hsb-mcast")
	agreeOnMutants(t, heavy.Or(1500, 20000), names, groups,
		"wellformed", "coverage", "barrier", "deadlock", "once", "acked", "retire", "recovery")
}

func TestBothCheckersAgreeOnMutantsThatFold(t *testing.T) {
	var folding []*ir.Schedule
	for _, s := range tiny(t) {
		if s.Folds() {
			folding = append(folding, s)
		}
	}
	names, groups := byName(folding)
	agreeOnMutants(t, heavy.Or(2000, 24000), names, groups,
		"wellformed", "coverage", "deadlock", "once", "typed", "contributes", "same-tree", "retire")
}

// agreeOnMutants compares both checkers on the given number of mutants of the named schedules, and
// on more until each of the checks has refuted five. Some checks refute one mutant in 200, so a
// given number of draws need not have any.
func agreeOnMutants(t *testing.T, mutants int, names []string, groups map[string][]*ir.Schedule, checks ...string) {
	killed, by, total, drawn := 0, map[string]int{}, 0, 0
	seen := func(check string) bool { return by[check] >= 5 }
	for seed := range heavy.Seeds(20 * mutants) {
		if drawn >= mutants && !slices.ContainsFunc(checks, func(c string) bool { return !seen(c) }) {
			break
		}
		drawn++
		rnd := rand.New(rand.NewPCG(seed, 0))
		group := groups[names[rnd.IntN(len(names))]]
		good := group[rnd.IntN(len(group))]
		s, changes := mutate(good, rnd)
		if reflect.DeepEqual(s, good) || ir.Validate(s) != nil || !newDumb(s).fits() {
			by["unchanged, no schedule or too large"]++
			continue
		}
		total++
		refuted := compare(t, s, fmt.Sprintf("seed %d: %s", seed, strings.Join(changes, ", ")))
		if len(refuted) > 0 {
			killed++
		}
		for _, c := range refuted {
			by[c]++
		}
	}
	t.Logf("%d of %d mutants killed; refuted by: %v", killed, total, by)
	require.Greater(t, total, drawn*2/5)
	require.Greater(t, killed, total*7/10)
	for _, c := range checks {
		require.True(t, seen(c), "mutants refuted by %s: %d", c, by[c])
	}
}

// TestMutantsKeepTheirChecks requires that no change of rules or of Done makes a check say that it
// does not apply. A part that a schedule lacks is never a reason.
func TestMutantsKeepTheirChecks(t *testing.T) {
	good := tiny(t)
	for seed := range heavy.Seeds(heavy.Or(5000, 20000)) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		s := good[rnd.IntN(len(good))]
		mutated, changes := mutate(s, rnd)
		for _, c := range Checks() {
			why, now := c.scope.of(mutated)
			require.Equal(t, applies(c, s), now, "seed %d: %s of %s after %s: %s", seed, c.Name, s.Name(), strings.Join(changes, ", "), why)
		}
	}
}

// TestForgottenAcksAreFound leaves out of the root's Done every subset of its signals, under the
// algorithm's name and under one that promises nothing.
func TestForgottenAcksAreFound(t *testing.T) {
	for ranks := 2; ranks <= 17; ranks++ {
		spec, err := NewSpec("bcast/mcast-acktree", Params{Ranks: ranks})
		require.NoError(t, err)
		for _, name := range []string{"mcast-acktree", "of-mine"} {
			s := clone(spec.Schedule())
			s.Algorithm = name
			acks := s.Programs[0].Signals
			for kept := range 1<<acks - 1 {
				done := []ir.Slot{ir.Enter}
				for j := range acks {
					if kept>>j&1 == 1 {
						done = append(done, ir.Signal(j))
					}
				}
				s.Programs[0].Done = done
				report, err := Run(s, "acked")
				require.NoError(t, err)
				require.ErrorContains(t, report.Err(), "acked: root 0 may return before rank", "%d ranks, done %v", ranks, done)
			}
		}
	}
}
