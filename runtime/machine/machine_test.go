package machine_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/schedule"
)

// Machines reach the fixpoint in every order of events.
func TestEveryOrderReachesTheFixpoint(t *testing.T) {
	algorithms := schedule.Algorithms()
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(algorithms).Draw(t, "algorithm")
		p := schedule.Params{Ranks: rapid.IntRange(1, 20).Draw(t, "ranks")}
		if row := a.Row(); row.Rooted {
			p.Root = rapid.IntRange(0, p.Ranks-1).Draw(t, "root")
		}
		if slices.Contains(a.Params, "chunks") {
			p.Chunks = rapid.IntRange(1, 5).Draw(t, "chunks")
		}
		if slices.Contains(a.Params, "hosts") {
			p.Hosts = rapid.IntRange(0, p.Ranks).Draw(t, "hosts")
		}
		spec, err := schedule.New(a.Name, p)
		require.NoError(t, err)
		s := spec.Schedule()
		lost := rapid.Bool().Draw(t, "multicasts lost")
		seed := rapid.Uint64().Draw(t, "seed")
		want, err := fixpoint.Run(s, fixpoint.Model{LoseMcast: lost, Repairs: true})
		require.NoError(t, err)
		net := network{machines: startRapid(t, s), lost: lost, random: rand.New(rand.NewPCG(seed, 0))}
		net.run()
		for r := range net.machines {
			m := &net.machines[r]
			require.True(t, m.Done(), "rank %d", r)
			require.True(t, m.Retired(), "rank %d", r)
			require.Empty(t, m.Missing())
			for k := range s.Chunks {
				require.Equal(t, want.Slot(r, ir.Chunk(k)) >= 0, m.Has(ir.Chunk(k)), "rank %d, c%d", r, k)
			}
		}
	})
}

func startRapid(t *rapid.T, s *ir.Schedule) []machine.Machine {
	machines := make([]machine.Machine, s.Ranks)
	for r := range machines {
		plan, err := machine.Compile(&s.Header, &s.Programs[r])
		require.NoError(t, err)
		machines[r].Reset(plan)
	}
	return machines
}

// network delivers messages in random order. At any time it may also run repairs that are still
// wanted.
type network struct {
	machines []machine.Machine
	lost     bool
	random   *rand.Rand
	under    []arrival
	armed    []armed
}

type arrival struct {
	rank int
	slot ir.Slot
}

type armed struct {
	rank int
	rule int32
}

func (n *network) run() {
	for r := range n.machines {
		n.under = append(n.under, arrival{r, ir.Enter})
	}
	for len(n.under)+len(n.armed) > 0 {
		i := n.random.IntN(len(n.under) + len(n.armed))
		if i < len(n.under) {
			e := n.under[i]
			n.under[i] = n.under[len(n.under)-1]
			n.under = n.under[:len(n.under)-1]
			n.deliver(e)
			continue
		}
		i -= len(n.under)
		a := n.armed[i]
		n.armed[i] = n.armed[len(n.armed)-1]
		n.armed = n.armed[:len(n.armed)-1]
		if m := &n.machines[a.rank]; m.Pending(a.rule) {
			n.send(a.rank, m.Plan().Actions(a.rule))
		}
	}
}

func (n *network) deliver(e arrival) {
	m := &n.machines[e.rank]
	do, arm := m.Set(e.slot)
	n.send(e.rank, do)
	for _, repair := range arm {
		n.armed = append(n.armed, armed{e.rank, repair})
	}
}

func (n *network) send(from int, actions []ir.Action) {
	for _, a := range actions {
		switch {
		case a.Op == ir.Put:
			n.under = append(n.under, arrival{int(a.To), a.Sets()})
			continue
		case a.Op == ir.Fold:
			n.under = append(n.under, arrival{from, a.As})
			continue
		}
		for r := range n.machines {
			if r != from && !n.lost {
				n.under = append(n.under, arrival{r, a.Slot})
			}
		}
	}
}

func TestCompileRefusesNumbersOutOfRange(t *testing.T) {
	h := ir.Header{Collective: "bcast", Algorithm: "x", Ranks: 2, Chunks: 1}
	good := ir.Rule{When: []ir.Slot{ir.Enter}, Do: []ir.Action{ir.PutTo(ir.Chunk(0), 1)}}
	bad := map[string]ir.Program{
		"rank outside":           {Rank: 2},
		"rule 0 waits: slot c1":  {Rules: []ir.Rule{{When: []ir.Slot{ir.Chunk(1)}, Do: good.Do}}},
		"rule 0 waits: slot s0":  {Rules: []ir.Rule{{When: []ir.Slot{ir.Signal(0)}, Do: good.Do}}},
		"rule 0: action put c0":  {Rules: []ir.Rule{{When: good.When, Do: []ir.Action{ir.PutTo(ir.Chunk(0), 2)}}}},
		"rule 0: action mcast":   {Rules: []ir.Rule{{When: good.When, Do: []ir.Action{ir.McastOf(ir.Signal(0))}}}},
		"rule 0, unless: slot s": {Rules: []ir.Rule{{When: good.When, Do: good.Do, Unless: ir.Signal(3)}}},
		"done: slot s7":          {Done: []ir.Slot{ir.Signal(7)}},
		"ask: the schedule":      {Recovery: ir.Recovery{Ask: []int32{1}}},
		"done does not wait":     {Signals: 1, Rules: []ir.Rule{{When: good.When, Do: good.Do, Unless: ir.Signal(0)}}},
	}
	for want, p := range bad {
		_, err := machine.Compile(&h, &p)
		require.ErrorContains(t, err, want)
	}
	p := ir.Program{Rules: []ir.Rule{good}, Done: []ir.Slot{ir.Enter}}
	plan, err := machine.Compile(&h, &p)
	require.NoError(t, err)
	var m machine.Machine
	m.Reset(plan)
	require.False(t, m.Valid(ir.Signal(0)))
	require.False(t, m.Valid(ir.None))
	do, arm := m.Set(ir.Signal(0))
	require.Empty(t, do, "a slot that does not exist changes nothing")
	require.Empty(t, arm)
	require.False(t, m.Has(ir.Signal(0)))
}

// Compile keeps the recovery of a program, and refuses one that is out of range.
func TestRecoveryIsCarried(t *testing.T) {
	s, err := ir.ParseText(strings.NewReader("schedule bcast/x ranks=2 root=0 chunks=1 recovery\n" +
		"rank 0\n  enter -> mcast c0\n  done enter s0\n  report from 1\n" +
		"rank 1\n  c0 -> put s0 @0\n  done c0\n  ask 0\n  report 0\n  twice s0 @0\n"))
	require.NoError(t, err)
	ready, err := machine.Of(s)
	require.NoError(t, err)
	for rank := range s.Programs {
		p, err := ready.Compile(rank)
		require.NoError(t, err)
		require.Equal(t, s.Programs[rank].Recovery, p.Recovery())
	}
	s.Programs[1].Ask[0] = 1
	_, err = machine.Compile(&s.Header, &s.Programs[1])
	require.ErrorContains(t, err, "rank 1: ask[0]: rank 1 asks itself")
}

// All rules of a barrier must fire, also those that done does not wait for. In a broadcast with
// repairs, all rules except repairs and answers to requests must fire.
func TestProgressCountsRulesThatMustFire(t *testing.T) {
	for _, c := range []struct {
		name            string
		ranks, rank, of int
	}{
		{"barrier/hsb", 40, 1, 2},
		{"bcast/mcast-acktree", 8, 6, 1},
		{"bcast/mcast-acktree", 8, 0, 1},
		{"bcast/mcast-acktree", 8, 7, 1},
	} {
		var m machine.Machine
		m.Reset(compile(t, c.name, c.ranks, c.rank, 0))
		_, of := m.Progress()
		require.Equal(t, c.of, of, "%s rank %d", c.name, c.rank)
	}
}

// A machine that has run its largest plan allocates nothing.
func TestWarmMachineDoesNotAllocate(t *testing.T) {
	large, small := compile(t, "bcast/mcast-acktree", 64, 32, 8), compile(t, "barrier/dissemination", 64, 5, 0)
	var m machine.Machine
	m.Reset(large)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, plan := range []*machine.Plan{small, large} {
			m.Reset(plan)
			m.Set(ir.Enter)
			for i := range 8 {
				m.Set(ir.Chunk(i))
				m.Set(ir.Signal(i))
			}
		}
	}))
}

func compile(t testing.TB, name string, ranks, rank, chunks int) *machine.Plan {
	spec, err := schedule.New(name, schedule.Params{Ranks: ranks, Chunks: chunks})
	require.NoError(t, err)
	h, p := spec.Header(), spec.Program(rank)
	plan, err := machine.Compile(&h, &p)
	require.NoError(t, err)
	return plan
}

// BenchmarkArrival times one arrival and the put that it triggers, in a rank of a pipeline.
func BenchmarkArrival(b *testing.B) {
	const chunks = 1024
	plan := compile(b, "bcast/mcast-chain", 64, 5, chunks)
	var m machine.Machine
	puts := 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%chunks == 0 {
			b.StopTimer()
			m.Reset(plan)
			m.Set(ir.Enter)
			b.StartTimer()
		}
		do, _ := m.Set(ir.Chunk(i % chunks))
		puts += len(do)
	}
	require.Positive(b, puts)
}

// BenchmarkOperation times a whole operation of the machine of BenchmarkArrival.
func BenchmarkOperation(b *testing.B) {
	const chunks = 1024
	plan := compile(b, "bcast/mcast-chain", 64, 5, chunks)
	var m machine.Machine
	puts := 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%chunks == 0 {
			m.Reset(plan)
			m.Set(ir.Enter)
		}
		do, _ := m.Set(ir.Chunk(i % chunks))
		puts += len(do)
	}
	require.Positive(b, puts)
}

// BenchmarkBarrier times a whole barrier in one rank's machine, including the reset.
func BenchmarkBarrier(b *testing.B) {
	plan := compile(b, "barrier/dissemination", 64, 5, 0)
	signals := 0
	var m machine.Machine
	b.ReportAllocs()
	for b.Loop() {
		m.Reset(plan)
		m.Set(ir.Enter)
		for signals = 0; !m.Done(); signals++ {
			m.Set(ir.Signal(signals))
		}
	}
	b.ReportMetric(float64(signals), "arrivals/op")
}

// A rank awaits the slots that done or a rule that must fire waits for, until they are set. It
// awaits no requests.
func TestAwaits(t *testing.T) {
	var m machine.Machine
	m.Reset(compile(t, "gather/linear", 40, 0, 0))
	require.True(t, m.Awaits(ir.Chunk(25)))
	m.Set(ir.Enter)
	m.Set(ir.Chunk(25))
	require.False(t, m.Awaits(ir.Chunk(25)))
	require.True(t, m.Awaits(ir.Chunk(24)))
	require.False(t, m.Awaits(ir.Chunk(99)), "there is none")

	spec, err := schedule.New("barrier/hsb-mcast", schedule.Params{Ranks: 40})
	require.NoError(t, err)
	h, requests := spec.Header(), 0
	for rank := range 40 {
		p := spec.Program(rank)
		plan, err := machine.Compile(&h, &p)
		require.NoError(t, err)
		m.Reset(plan)
		for k, request := range p.Requests() {
			if request {
				requests++
				require.False(t, m.Awaits(ir.Signal(k)), "rank %d, s%d", rank, k)
			}
		}
	}
	require.Positive(t, requests)
}

// A rank that waits for a result which it folds itself lacks the operands, and nobody else's chunk.
func TestMissingOperands(t *testing.T) {
	s, err := ir.ParseText(strings.NewReader(`schedule allreduce/mine ranks=3 chunks=1
rank 0
  enter v0 -> fold v2 = x0 v0
  v2 v1 -> fold c0 = v2 v1
  c0 -> put c0 @1
  c0 -> put c0 @2
  done c0
rank 1
  enter -> put x0 @0 as v0
  done c0
rank 2
  enter -> put x0 @0 as v1
  done c0
`))
	require.NoError(t, err)
	for rank, steps := range [][]struct {
		set     ir.Slot
		missing []ir.Slot
	}{
		{{ir.Enter, []ir.Slot{ir.Value(0), ir.Value(1)}}, {ir.Value(1), []ir.Slot{ir.Value(0)}}, {ir.Value(0), []ir.Slot{ir.Value(2)}}, {ir.Value(2), []ir.Slot{ir.Chunk(0)}}, {ir.Chunk(0), nil}},
		{{ir.Enter, []ir.Slot{ir.Chunk(0)}}, {ir.Chunk(0), nil}},
	} {
		p, err := machine.Compile(&s.Header, &s.Programs[rank])
		require.NoError(t, err)
		var m machine.Machine
		m.Reset(p)
		for _, step := range steps {
			m.Set(step.set)
			require.Equal(t, step.missing, m.Missing(), "rank %d has %v", rank, step.set)
		}
	}
}
