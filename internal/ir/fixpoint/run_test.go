package fixpoint_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

var (
	c0     = ir.Chunk(0)
	s0, s1 = ir.Signal(0), ir.Signal(1)
)

func when(slots ...ir.Slot) []ir.Slot { return slots }

func rule(when []ir.Slot, do ...ir.Action) ir.Rule { return ir.Rule{When: when, Do: do} }

// bcast returns a schedule of a broadcast of one chunk from rank 0. Every rank has two signals.
func bcast(rules ...[]ir.Rule) *ir.Schedule {
	s := &ir.Schedule{Header: ir.Header{Collective: "bcast", Algorithm: "test", Ranks: len(rules), Chunks: 1}}
	for r, rs := range rules {
		s.Programs = append(s.Programs, ir.Program{Rank: r, Signals: 2, Rules: rs, Done: when(c0)})
	}
	return s
}

func slotRounds(t *testing.T, s *ir.Schedule, m fixpoint.Model, slot ir.Slot) []int {
	t.Helper()
	res, err := fixpoint.Run(s, m)
	require.NoError(t, err)
	var rounds []int
	for r := range s.Programs {
		rounds = append(rounds, res.Slot(r, slot))
	}
	return rounds
}

func TestChainTakesOneRoundPerHop(t *testing.T) {
	s := bcast(
		[]ir.Rule{rule(when(ir.Enter), ir.PutTo(c0, 1))},
		[]ir.Rule{rule(when(c0), ir.PutTo(c0, 2))},
		nil)
	require.Equal(t, []int{0, 1, 2}, slotRounds(t, s, fixpoint.Model{}, c0))
	res, err := fixpoint.Run(s, fixpoint.Model{})
	require.NoError(t, err)
	require.Equal(t, 1, res.Rule(1, 0))
	require.Equal(t, -1, res.Rule(1, 1))
	require.Equal(t, -1, res.Slot(1, ir.Signal(7)))
	require.Equal(t, -1, res.Slot(9, c0))
	require.Equal(t, []int32{0, 1}, res.Fired())
	require.Equal(t, 1, res.Cause(res.Layout().Slot(2, c0)))
	require.Equal(t, -1, res.Cause(res.Layout().Slot(0, c0)))
}

func TestMulticastReachesAllOthersUnlessLost(t *testing.T) {
	s := bcast([]ir.Rule{rule(when(ir.Enter), ir.McastOf(c0))}, nil, nil)
	require.Equal(t, []int{0, 1, 1}, slotRounds(t, s, fixpoint.Model{}, c0))
	require.Equal(t, []int{0, -1, -1}, slotRounds(t, s, fixpoint.Model{LoseMcast: true}, c0))
	lost := func(_, to, _ int) bool { return to == 1 }
	require.Equal(t, []int{0, -1, 1}, slotRounds(t, s, fixpoint.Model{Lost: lost}, c0))
}

func TestSecondMulticastReachesTheFirstSender(t *testing.T) {
	s := bcast(nil, []ir.Rule{rule(when(s0), ir.McastOf(c0))}, []ir.Rule{rule(when(ir.Enter), ir.McastOf(c0), ir.PutTo(s0, 1))})
	s.Root = 1
	without := fixpoint.Model{Without: []fixpoint.Place{{Rank: 1, Slot: ir.Enter}}}
	require.Equal(t, []int{1, 1, 2}, slotRounds(t, s, without, c0))
}

func TestRepairsWaitUntilAllIsAtRest(t *testing.T) {
	repair := ir.Rule{When: when(c0), Unless: s0, After: 1, Do: []ir.Action{ir.PutTo(c0, 1)}}
	s := bcast(
		[]ir.Rule{rule(when(ir.Enter), ir.McastOf(c0)), repair},
		[]ir.Rule{rule(when(c0), ir.PutTo(s0, 0))})
	require.Equal(t, []int{0, -1}, slotRounds(t, s, fixpoint.Model{LoseMcast: true}, c0))
	require.Equal(t, []int{0, 1}, slotRounds(t, s, fixpoint.Model{LoseMcast: true, Repairs: true}, c0))
	require.Equal(t, []int{2, -1}, slotRounds(t, s, fixpoint.Model{Repairs: true}, s0))

	res, err := fixpoint.Run(s, fixpoint.Model{Repairs: true})
	require.NoError(t, err)
	require.Equal(t, -1, res.Rule(0, 1), "its unless is set")
	res, err = fixpoint.Run(s, fixpoint.Model{EveryRepair: true})
	require.NoError(t, err)
	require.Equal(t, 0, res.Rule(0, 1))
}

func TestInvalidSchedulesAreErrors(t *testing.T) {
	for name, s := range map[string]*ir.Schedule{
		"a program too few":  {Header: ir.Header{Ranks: 2}, Programs: []ir.Program{{}}},
		"a program twice":    {Header: ir.Header{Ranks: 2}, Programs: []ir.Program{{}, {}}},
		"chunks below 0":     {Header: ir.Header{Ranks: 1, Chunks: -1}, Programs: []ir.Program{{}}},
		"too many chunks":    {Header: ir.Header{Ranks: 1, Chunks: 1 << 40}, Programs: []ir.Program{{}}},
		"signals below 0":    {Header: ir.Header{Ranks: 1}, Programs: []ir.Program{{Signals: -1}}},
		"waits for nothing":  bcast([]ir.Rule{rule(when(ir.Signal(2)))}),
		"waits for none":     bcast([]ir.Rule{rule(when(ir.None))}),
		"put to nobody":      bcast([]ir.Rule{rule(when(ir.Enter), ir.PutTo(c0, 1))}),
		"put to rank -1":     bcast([]ir.Rule{rule(when(ir.Enter), ir.PutTo(c0, -1))}),
		"multicast a signal": bcast([]ir.Rule{rule(when(ir.Enter), ir.McastOf(s0))}),
	} {
		_, err := fixpoint.Run(s, fixpoint.Model{})
		require.Error(t, err, name)
	}
}

// naive fires every rule that can fire until nothing changes. It uses maps.
func naive(s *ir.Schedule, m fixpoint.Model) map[fixpoint.Place]bool {
	set := map[fixpoint.Place]bool{}
	for r := range s.Programs {
		set[fixpoint.Place{Rank: r, Slot: ir.Enter}] = true
	}
	set[fixpoint.Place{Rank: s.Root, Slot: c0}] = true
	for {
		before := len(set)
		for naivePass(s, m, set, false) {
		}
		if m.Repairs {
			naivePass(s, m, set, true)
		}
		if len(set) == before {
			return set
		}
	}
}

// naivePass fires all ready plain rules, or all ready repairs, in a copy of the state. So no repair
// prevents another repair of the same pass.
func naivePass(s *ir.Schedule, m fixpoint.Model, set map[fixpoint.Place]bool, repairs bool) bool {
	add := map[fixpoint.Place]bool{}
	for r := range s.Programs {
		for _, rule := range s.Programs[r].Rules {
			ready := rule.IsRepair() == repairs && !(repairs && set[fixpoint.Place{Rank: r, Slot: rule.Unless}])
			for _, w := range rule.When {
				ready = ready && set[fixpoint.Place{Rank: r, Slot: w}]
			}
			for _, a := range rule.Do {
				for to := range s.Programs {
					hit := a.Op == ir.Put && int(a.To) == to || a.Op == ir.Mcast && to != r && !m.LoseMcast && (m.Lost == nil || !m.Lost(r, to, a.Slot.Index()))
					if ready && hit {
						add[fixpoint.Place{Rank: to, Slot: a.Slot}] = true
					}
				}
			}
		}
	}
	before := len(set)
	for p := range add {
		set[p] = true
	}
	return len(set) > before
}

func randomSchedule(rnd *rand.Rand) *ir.Schedule {
	slots := []ir.Slot{ir.Enter, c0, s0, s1}
	s := bcast(make([][]ir.Rule, 1+rnd.IntN(4))...)
	s.Root = rnd.IntN(s.Ranks)
	for range rnd.IntN(10) {
		r := ir.Rule{When: when(slots[rnd.IntN(4)], slots[rnd.IntN(4)])[:rnd.IntN(3)]}
		if rnd.IntN(3) == 0 {
			r.Unless = slots[1+rnd.IntN(3)]
		}
		for range rnd.IntN(3) {
			r.Do = append(r.Do, ir.PutTo(slots[1+rnd.IntN(3)], rnd.IntN(s.Ranks)))
		}
		if rnd.IntN(3) == 0 {
			r.Do = append(r.Do, ir.McastOf(c0))
		}
		p := &s.Programs[rnd.IntN(s.Ranks)]
		p.Rules = append(p.Rules, r)
	}
	return s
}

func TestAgreesWithNaiveIteration(t *testing.T) {
	for seed := range heavy.Seeds(3000) {
		s := randomSchedule(rand.New(rand.NewPCG(seed, 0)))
		lost := func(from, to, _ int) bool { return (uint64(from+2*to)+seed)%3 == 0 }
		for _, m := range []fixpoint.Model{
			{}, {LoseMcast: true}, {Repairs: true}, {LoseMcast: true, Repairs: true}, {Lost: lost}, {Lost: lost, Repairs: true},
		} {
			res, err := fixpoint.Run(s, m)
			require.NoError(t, err)
			want := naive(s, m)
			for id, round := range res.Slots() {
				p := res.Layout().PlaceOf(id)
				require.Equal(t, want[p], round >= 0, "seed %d, model %+v: %v in %+v", seed, m, p, s)
			}
		}
	}
}

func TestRoundsAreOneAfterTheRule(t *testing.T) {
	for seed := range heavy.Seeds(1000) {
		s := randomSchedule(rand.New(rand.NewPCG(seed, 1)))
		res, err := fixpoint.Run(s, fixpoint.Model{})
		require.NoError(t, err)
		for r := range s.Programs {
			for i, rule := range s.Programs[r].Rules {
				want := 0
				for _, w := range rule.When {
					if got := res.Slot(r, w); got < 0 || want < 0 {
						want = -1
					} else {
						want = max(want, got)
					}
				}
				if rule.IsRepair() {
					want = -1
				}
				require.Equal(t, want, res.Rule(r, i), "seed %d rank %d rule %d", seed, r, i)
			}
		}
	}
}
