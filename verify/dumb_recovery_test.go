package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

// dumbRecovery reports whether recovery is broken, rank by rank and step by step.
func dumbRecovery(s *ir.Schedule) bool {
	set := byPutAlone(s)
	yields := dumbYields(s)
	for rank, p := range s.Programs {
		for k := range s.Chunks {
			if wanted := s.Wanted(rank); !wanted.Has(k) || set[place(rank, ir.Chunk(k))] {
				continue
			}
			if yields || !findsChunk(s, set, rank, k) || !climbs(s, rank) {
				return true
			}
		}
		for other, q := range s.Programs {
			if slices.Contains(q.ReportFrom, int32(rank)) != (p.Reports && int(p.ReportTo) == other) {
				return true
			}
		}
		if (p.Reports || len(p.ReportFrom) > 0) && !climbs(s, rank) {
			return true
		}
		for _, a := range p.Twice {
			if !slices.ContainsFunc(p.Rules, func(r ir.Rule) bool { return !r.IsRepair() && slices.Contains(r.Do, a) }) {
				return true
			}
		}
	}
	return false
}

// dumbYields reports whether the root puts a chunk to a rank that reports to it.
func dumbYields(s *ir.Schedule) bool {
	p := &s.Programs[s.Root]
	return slices.ContainsFunc(p.Rules, func(r ir.Rule) bool {
		return !r.IsRepair() && slices.ContainsFunc(r.Do, func(a ir.Action) bool {
			return a.Op == ir.Put && a.Slot.Kind() == ir.KindChunk && slices.Contains(p.ReportFrom, a.To)
		})
	})
}

// byPutAlone returns the slots that are set if all multicasts are lost and no repair is made. It
// examines every rule again until nothing changes.
func byPutAlone(s *ir.Schedule) map[Place]bool {
	set := map[Place]bool{}
	for rank := range s.Programs {
		set[place(rank, ir.Enter)] = true
		for k := range s.Chunks {
			set[place(rank, ir.Chunk(k))] = s.Holds(rank, k)
		}
	}
	for changed := true; changed; {
		changed = false
		for rank, p := range s.Programs {
			for _, r := range p.Rules {
				if r.IsRepair() || slices.ContainsFunc(r.When, func(w ir.Slot) bool { return !set[place(rank, w)] }) {
					continue
				}
				for _, to := range sends(s, rank, &r, false) {
					changed = changed || !set[to]
					set[to] = true
				}
			}
		}
	}
	return set
}

// findsChunk follows the last rank of each Ask, as many steps as there are ranks.
func findsChunk(s *ir.Schedule, set map[Place]bool, rank, k int) bool {
	for range s.Ranks + 1 {
		if set[place(rank, ir.Chunk(k))] {
			return true
		}
		ask := s.Programs[rank].Ask
		if len(ask) == 0 {
			return false
		}
		rank = int(ask[len(ask)-1])
	}
	return false
}

// climbs reports whether reports of rank reach the root and go no further.
func climbs(s *ir.Schedule, rank int) bool {
	for range s.Ranks + 1 {
		p := &s.Programs[rank]
		if !p.Reports {
			return rank == s.Root
		}
		rank = int(p.ReportTo)
	}
	return false
}

// withRecovery returns a copy of a broadcast with random recovery: reports in a tree of any shape,
// and random ranks to ask.
func withRecovery(s *ir.Schedule, rnd *rand.Rand) *ir.Schedule {
	s = clone(s)
	s.Recovers = true
	order := rnd.Perm(s.Ranks)
	slices.SortStableFunc(order, func(a, b int) int { return flag(b == s.Root) - flag(a == s.Root) })
	for i, rank := range order {
		p := &s.Programs[rank]
		p.Recovery = ir.Recovery{}
		for _, other := range rnd.Perm(s.Ranks)[:rnd.IntN(min(3, s.Ranks)+1)] {
			if other != rank {
				p.Ask = append(p.Ask, int32(other))
			}
		}
		if rnd.IntN(3) > 0 && rank != s.Root && !slices.Contains(p.Ask, int32(s.Root)) {
			p.Ask = append(p.Ask, int32(s.Root))
		}
		if i > 0 && rnd.IntN(8) > 0 {
			above := order[rnd.IntN(i)]
			p.Reports, p.ReportTo = true, int32(above)
			s.Programs[above].ReportFrom = append(s.Programs[above].ReportFrom, int32(rank))
		}
		for _, r := range p.Rules {
			for _, a := range r.Do {
				if a.Slot.Kind() == ir.KindSignal && rnd.IntN(2) == 0 {
					p.Twice = append(p.Twice, a)
				}
			}
		}
	}
	sortRecovery(s)
	return s
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestRecoveryAgreesWithBruteForce compares the check with brute force on all collectives with a
// root, with recovery of any kind, and on changes of both.
func TestRecoveryAgreesWithBruteForce(t *testing.T) {
	good := tiny(t)
	refuted, total := 0, 0
	for seed := range heavy.Seeds(20000) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		s := good[rnd.IntN(len(good))]
		if !s.Rooted() { // reports are for the root
			continue
		}
		if !s.Recovers || rnd.IntN(2) == 0 {
			s = withRecovery(s, rnd)
		}
		if rnd.IntN(2) == 0 {
			s, _ = mutate(s, rnd)
		}
		if ir.Validate(s) != nil {
			continue
		}
		sub, err := newSubject(s)
		require.NoError(t, err)
		if s.Chunks > sub.layout.Slots() {
			continue // no rank brings most of the chunks, which is reason enough
		}
		_, err = proveRecovery(sub)
		label := fmt.Sprintf("seed %d: %v\n%s", seed, err, text(t, s))
		require.Equal(t, dumbRecovery(s), err != nil, label)
		if total++; err != nil {
			refuted++
			requireCounterexample(t, err, label)
		}
	}
	t.Logf("%d of %d refuted", refuted, total)
	require.Greater(t, total, 8000)
	require.Greater(t, refuted, total/8)
}
