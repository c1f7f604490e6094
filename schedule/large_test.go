package schedule

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
)

// Schedules of a million ranks are too large to verify in a test. These tests compare the program
// of one rank with the programs of the ranks that it deals with.

// TestLargeSignals checks that the destination of a signal has this signal and waits for it.
func TestLargeSignals(t *testing.T) {
	for _, name := range []string{"bcast/mcast-acktree", "barrier/hsb", "barrier/hsb-mcast", "barrier/exchange", "barrier/dissemination"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s, rank := largeSpec(t, name)
				for _, rule := range s.Program(rank).Rules {
					for _, act := range rule.Do {
						requireAwaited(t, s.Program(int(act.To)), act)
					}
				}
			})
		})
	}
}

// largeSpec draws parameters of an algorithm that are too large to verify, with hosts of at most a
// few dozen ranks, and one rank.
func largeSpec(t *rapid.T, name string) (s *Spec, rank int) {
	ranks := rapid.IntRange(largeRanks, MaxRanks).Draw(t, "ranks")
	p := Params{Ranks: ranks, Hosts: rapid.SampledFrom([]int{0, ranks, ranks - 1, ranks/3 + 1, ranks / 29}).Draw(t, "hosts")}
	fan := rapid.SampledFrom([]int{0, 2, 3, 17})
	switch name {
	case "bcast/mcast-acktree", "bcast/mcast-chain":
		p.Root = rapid.IntRange(0, ranks-1).Draw(t, "root")
		p.Chunks = rapid.IntRange(1, 3).Draw(t, "chunks")
	case "barrier/hsb", "barrier/hsb-mcast":
		p.FanIn, p.FanOut = fan.Draw(t, "in"), fan.Draw(t, "out")
	default:
		p.Degree = fan.Draw(t, "degree")
	}
	s, err := New(name, p)
	require.NoError(t, err)
	return s, rapid.IntRange(0, ranks-1).Draw(t, "rank")
}

func requireAwaited(t *rapid.T, to ir.Program, act ir.Action) {
	if act.Slot.Kind() != ir.KindSignal {
		return
	}
	require.Less(t, act.Slot.Index(), to.Signals, "%v has no such signal", act)
	awaited := slices.Contains(to.Done, act.Slot)
	for _, rule := range to.Rules {
		awaited = awaited || slices.Contains(rule.When, act.Slot)
	}
	require.True(t, awaited, "nobody waits for %v of rank %d", act.Slot, to.Rank)
}

// TestLargeRootless walks from a rank back to the origin and counts the hops. The program of the
// rank at the end of each step must confirm the step.
func TestLargeRootless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(3, MaxRanks).Draw(t, "ranks")
		origin := rapid.IntRange(0, ranks-1).Draw(t, "origin")
		s, err := New("anycast/skip-ring", Params{Ranks: ranks, Root: origin})
		require.NoError(t, err)
		at := rapid.IntRange(0, ranks-1).Draw(t, "rank")
		hops := 0
		for at != origin {
			from := skipRing{ranks}.Sender(at, origin)
			require.Contains(t, targets(s.Program(from)), at)
			at = from
			hops++
			require.LessOrEqual(t, hops, 2*bits.Len(uint(ranks-1))-2)
		}
	})
}

// What a few ranks have is never far more than what all ranks have.
func TestSizeAbout(t *testing.T) {
	for _, alg := range Algorithms() {
		for _, p := range []Params{
			{Ranks: 1}, {Ranks: 2}, {Ranks: 24}, {Ranks: 24, Hosts: 5}, {Ranks: 25, Hosts: 24}, {Ranks: 24, Hosts: 23, Root: 3}, {Ranks: 24, Root: 23}, {Ranks: 31, Hosts: 2, Chunks: 7},
		} {
			s, err := New(alg.Name, p)
			if err != nil {
				continue
			}
			rules, actions := s.Size()
			r, a := s.SizeAbout(math.MaxInt64)
			require.LessOrEqual(t, r, 2*rules, "%s %+v", alg.Name, p)
			require.LessOrEqual(t, a, 2*actions, "%s %+v", alg.Name, p)
			part, some := s.SizeUpTo(actions / 2)
			require.True(t, max(rules, actions) == 0 || max(part, some) > actions/2, "%s %+v", alg.Name, p)
		}
	}
}
