package sim_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// drawConfig draws a machine and its events.
func drawConfig(t *rapid.T, ranks int) sim.Config {
	ns := func(name string) sim.Time { return sim.Time(rapid.IntRange(0, 5000).Draw(t, name)) }
	near := sim.LogGP{L: ns("near L"), O: ns("near o"), Gap: ns("near g")}
	return sim.Config{
		Model: rapid.SampledFrom([]sim.Model{
			sim.LogGP{L: ns("L"), O: ns("o"), Gap: ns("g"), GPerByte: 500, OPerByte: 3, Near: &near},
			sim.Linear{T0: ns("t0"), PerByte: 800, Sync: rapid.Bool().Draw(t, "sync")},
			sim.Links{O: ns("cpu"), Loop: ns("loop"), Up: sim.Link{Rate: 1e9, Delay: ns("up")}, Down: sim.Link{Rate: 2e9, Delay: ns("down")}},
		}).Draw(t, "model"),
		Hosts:   rapid.IntRange(0, ranks).Draw(t, "hosts"),
		Switch:  sim.PerByte(rapid.IntRange(0, 1000).Draw(t, "switch")),
		Bytes:   rapid.IntRange(0, 5000).Draw(t, "bytes"),
		Arrival: sim.Arrival{Others: ns("others"), Late: ns("late"), Skew: ns("skew")},
		Seed:    rapid.Uint64().Draw(t, "seed"),
		Noise:   ns("noise"),
		Loss:    rapid.SampledFrom([]float64{0, 0.1, 0.5, 1}).Draw(t, "loss"),
		Unready: rapid.Bool().Draw(t, "unready"),
		Fanout:  ns("fan-out"),
		Repair:  1000 + ns("repair"),
		Delay:   sim.Delay{Fixed: ns("delay"), Peer: rapid.Bool().Draw(t, "peer")},
		Path:    rapid.Bool().Draw(t, "path"),
	}
}

// TestEveryCallReturns checks that on any machine, and whatever is lost, every call returns. A
// simulation that is run again has the same result, and recording the critical path changes
// nothing.
func TestEveryCallReturns(t *testing.T) {
	algorithms := schedule.Algorithms()
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(algorithms).Draw(t, "algorithm")
		p := schedule.Params{Ranks: rapid.IntRange(1, 40).Draw(t, "ranks")}
		row, _ := ir.CollectiveNamed(a.Collective)
		if row.Rooted {
			p.Root = rapid.IntRange(0, p.Ranks-1).Draw(t, "root")
		}
		if row.Blocks != nil && !a.Uncut() && a.Name != "bcast/symmetric" {
			p.Chunks = rapid.IntRange(1, 4).Draw(t, "chunks")
		}
		spec, err := schedule.New(a.Name, p)
		require.NoError(t, err)
		c := drawConfig(t, p.Ranks)
		if rapid.Bool().Draw(t, "barrier before") {
			c.Before, err = schedule.New("barrier/dissemination", schedule.Params{Ranks: p.Ranks})
			require.NoError(t, err)
		}
		s, err := sim.New(spec, c)
		require.NoError(t, err)
		r, err := s.Run(c.Seed)
		require.NoError(t, err)
		require.NotEqual(t, sim.Never, r.Makespan)
		for rank := range r.Returns {
			require.GreaterOrEqual(t, r.Returns[rank], r.Enters[rank])
		}
		_, err = s.Run(c.Seed + 1)
		require.NoError(t, err)
		again, err := s.Run(c.Seed)
		require.NoError(t, err)
		require.Equal(t, r, again)
		checkPath(t, r)
		c.Path = !c.Path
		other, err := sim.Run(sim.Of(spec.Schedule()), c)
		require.NoError(t, err)
		other.Path, r.Path = nil, nil
		require.Equal(t, r, other)
	})
}

// checkPath checks that a critical path is consistent.
func checkPath(t *rapid.T, r *sim.Result) {
	if len(r.Path) == 0 {
		return
	}
	first, last := r.Path[0], r.Path[len(r.Path)-1]
	require.Equal(t, sim.Enter, first.Op)
	require.Equal(t, r.Enters[first.Rank], first.Begin)
	require.Equal(t, r.Makespan, r.Returns[last.Rank])
	for i, s := range r.Path[1:] {
		before := r.Path[i]
		require.GreaterOrEqual(t, s.End, s.Begin)
		require.GreaterOrEqual(t, s.Begin, before.Begin)
		if s.Rank != before.Rank {
			require.Equal(t, sim.Receive, s.Op)
			require.Equal(t, sim.Send, before.Op)
			require.Equal(t, before.Rank, s.Peer)
			require.Equal(t, before.Slots, s.Slots)
		}
	}
}

// TestCriticalPath checks that the critical path of a broadcast without delays is the longest path.
func TestCriticalPath(t *testing.T) {
	c := sim.Config{Model: sim.LogGP{L: 100, O: 10, Gap: 5}, Path: true}
	r := simulate(t, "bcast/chain", schedule.Params{Ranks: 3}, c)
	c0 := []ir.Slot{ir.Chunk(0)}
	require.Equal(t, []sim.Step{
		{Rank: 0, Op: sim.Enter, Slots: []ir.Slot{ir.Enter}, Peer: -1},
		{Rank: 0, Op: sim.Send, Slots: c0, Peer: 1, Begin: 0, End: 10},
		{Rank: 1, Op: sim.Receive, Slots: c0, Peer: 0, Begin: 110, End: 120},
		{Rank: 1, Op: sim.Send, Slots: c0, Peer: 2, Begin: 120, End: 130},
		{Rank: 2, Op: sim.Receive, Slots: c0, Peer: 1, Begin: 230, End: 240},
	}, r.Path)
	c.Arrival.At = []sim.Time{0, 0, 5000}
	r = simulate(t, "bcast/chain", schedule.Params{Ranks: 3}, c)
	require.Equal(t, []sim.Step{
		{Rank: 2, Op: sim.Enter, Slots: []ir.Slot{ir.Enter}, Peer: -1, Begin: 5000, End: 5000},
		{Rank: 2, Op: sim.Receive, Slots: c0, Peer: 1, Begin: 5000, End: 5010},
	}, r.Path)
}

// TestTwoStages checks that stage 2 brings what stage 1 has not (paper 000, section 2.2). If all
// multicasts are lost, it takes a chain, and if none is, it takes one hop. Receivers that have not
// called lose the multicast too.
func TestTwoStages(t *testing.T) {
	const ranks, o, l = 10, 10, 100
	c := sim.Config{Model: sim.LogGP{L: l, O: o}, Seed: 3}
	params := schedule.Params{Ranks: ranks}
	hop := sim.Time(2*o + l)
	r := simulate(t, "bcast/mcast-chain", params, c)
	require.Less(t, r.Makespan, 2*hop)
	require.Zero(t, r.Counts.Lost)
	c.Loss = 1
	r = simulate(t, "bcast/mcast-chain", params, c)
	require.Equal(t, o+(ranks-1)*hop, r.Makespan)
	require.Equal(t, int64(ranks-1), r.Counts.Lost)
	c.Loss, c.Unready, c.Arrival.Others = 0, true, 1000
	require.Equal(t, r.Counts.Lost, simulate(t, "bcast/mcast-chain", params, c).Counts.Lost)
	for name, d := range map[string]sim.Delay{"fixed": {Fixed: 1000}, "peer": {Peer: true}} {
		c.Delay = d
		require.Zero(t, simulate(t, "bcast/mcast-chain", params, c).Counts.Lost, name)
	}
	c.Delay = sim.Delay{}
	c.Before = spec(t, "barrier/dissemination", params)
	require.Zero(t, simulate(t, "bcast/mcast-chain", params, c).Counts.Lost, "barrier")
}

// TestPeer checks that the root waits for its peer and no longer: for the message of one byte that
// the peer sends as soon as it has called, and not for a later rank.
func TestPeer(t *testing.T) {
	c := sim.Config{Model: sim.LogGP{L: 100, O: 10}, Delay: sim.Delay{Peer: true}, Arrival: sim.Arrival{At: []sim.Time{0, 7000, 9000}}, Path: true}
	peers := map[int]bool{}
	for seed := range uint64(20) {
		c.Seed = seed
		r := simulate(t, "bcast/linear", schedule.Params{Ranks: 3}, c)
		peer := 1
		if r.Returns[0] > 8000 {
			peer = 2
		}
		peers[peer] = true
		require.Equal(t, c.Arrival.At[peer]+10+100+10+20, r.Returns[0], "told, received, two sends")
	}
	require.Len(t, peers, 2)
}

// TestAdaptiveDelay checks that the adaptive delay grows until few ranks are late, that it shrinks
// when none is late any more, and that multicasts lost by chance cost no more than the wait for the
// word of a rank that has called.
func TestAdaptiveDelay(t *testing.T) {
	spec := spec(t, "bcast/mcast-chain", schedule.Params{Ranks: 9})
	const runs = 400
	// lost returns how many copies are lost in the last quarter of the runs, and their mean makespan.
	lost := func(c sim.Config) (lost int64, span sim.Time) {
		c.Model, c.Unready = sim.DefaultLogGP(), true
		s, err := sim.New(spec, c)
		require.NoError(t, err)
		for seed := range uint64(runs) {
			r, err := s.Run(seed)
			require.NoError(t, err)
			if seed >= runs*3/4 {
				lost += r.Counts.Lost
				span += r.Makespan / (runs / 4)
			}
		}
		return lost, span
	}
	late := sim.Arrival{Others: 300_000}
	all, _ := lost(sim.Config{Arrival: late})
	few, _ := lost(sim.Config{Arrival: late, Delay: sim.Delay{Adaptive: true}})
	require.EqualValues(t, 8*runs/4, all)
	require.Less(t, few, all/4)
	require.Positive(t, few, "the delay is never too long for good")

	_, without := lost(sim.Config{Loss: 0.7})
	_, with := lost(sim.Config{Loss: 0.7, Delay: sim.Delay{Adaptive: true}})
	require.Less(t, with, without+5500, "the word of a rank that has called takes one hop")
}

// TestLossIsAsLikelyAsItSays checks that multicasts are lost with the given probability.
func TestLossIsAsLikelyAsItSays(t *testing.T) {
	s, err := sim.New(spec(t, "bcast/mcast-chain", schedule.Params{Ranks: 1001}), sim.Config{Model: sim.DefaultLogGP(), Loss: 0.3})
	require.NoError(t, err)
	lost := int64(0)
	for seed := range uint64(20) {
		r, err := s.Run(seed)
		require.NoError(t, err)
		lost += r.Counts.Lost
	}
	deviation := math.Sqrt(20_000 * 0.3 * 0.7)
	require.InDelta(t, 6000, lost, 4*deviation)
}

// TestRepairs checks that the root misses the acknowledgement of a rank that has lost the
// multicast, puts the message to it after the timeout of its level, and all ranks return (paper
// 002).
func TestRepairs(t *testing.T) {
	c := sim.Config{Model: sim.LogGP{L: 100, O: 10}, Loss: 1, Repair: 5000}
	r := simulate(t, "bcast/mcast-acktree", schedule.Params{Ranks: 2}, c)
	require.Equal(t, int64(1), r.Counts.Repairs)
	put := sim.Time(5000) // o of the multicast is over when the clock starts
	require.Equal(t, put+10+100+10+10, r.Returns[1], "put, received, acknowledged")
	require.Equal(t, r.Returns[1]+100+10, r.Returns[0])
	c.Repair = 0
	require.Equal(t, sim.Never, simulate(t, "bcast/mcast-acktree", schedule.Params{Ranks: 2}, c).Makespan)
}

// TestRepairsDueTogether checks that a rank makes one of several repairs that are due at the same
// time and postpones the others, and that repairs with different timeouts do not delay each other.
func TestRepairsDueTogether(t *testing.T) {
	const base = 5000
	for _, c := range []struct{ after, made []int }{
		{[]int{1, 1, 1, 1}, []int{1, 2, 4, 8}},
		{[]int{1, 2, 3, 4}, []int{1, 2, 3, 4}},
		{[]int{2, 2, 2, 2}, []int{2, 4, 8, 16}},
	} {
		root := ir.Program{Signals: 4, Rules: []ir.Rule{{When: []ir.Slot{ir.Enter}, Do: []ir.Action{ir.McastOf(ir.Chunk(0))}}}}
		programs := []ir.Program{{}}
		for i, after := range c.after {
			ack := ir.Signal(i)
			root.Done = append(root.Done, ack)
			root.Rules = append(root.Rules, ir.Rule{When: []ir.Slot{ir.Enter}, Unless: ack, After: after, Do: []ir.Action{ir.PutTo(ir.Chunk(0), i+1)}})
			programs = append(programs, ir.Program{Rank: i + 1, Done: []ir.Slot{ir.Chunk(0)},
				Rules: []ir.Rule{{When: []ir.Slot{ir.Chunk(0)}, Do: []ir.Action{ir.PutTo(ack, 0)}}}})
		}
		programs[0] = root
		s := &ir.Schedule{Header: ir.Header{Collective: "bcast", Algorithm: "flat", Ranks: 5, Chunks: 1}, Programs: programs}
		r, err := sim.Run(sim.Of(s), sim.Config{Model: sim.LogGP{L: 100, O: 10}, Loss: 1, Repair: base})
		require.NoError(t, err)
		require.Equal(t, int64(4), r.Counts.Repairs)
		for i, times := range c.made {
			require.Equal(t, sim.Time(times*base)+10+100+10+10, r.Returns[i+1], "after %v: put, received, acknowledged", c.after)
		}
	}
}

// TestRepairsEnd checks that a repair of something that never comes is given up.
func TestRepairsEnd(t *testing.T) {
	s := &ir.Schedule{Header: ir.Header{Collective: "bcast", Algorithm: "deaf", Ranks: 2, Chunks: 1}, Programs: []ir.Program{
		{Signals: 1, Done: []ir.Slot{ir.Signal(0)},
			Rules: []ir.Rule{{When: []ir.Slot{ir.Enter}, Unless: ir.Signal(0), After: 1, Do: []ir.Action{ir.PutTo(ir.Chunk(0), 1)}}}},
		{Done: []ir.Slot{ir.Chunk(0)}},
	}}
	r, err := sim.Run(sim.Of(s), sim.Config{Model: sim.DefaultLogGP(), Repair: 1})
	require.NoError(t, err)
	require.Equal(t, sim.Never, r.Makespan)
	require.Positive(t, r.Counts.Repairs)
}

// TestTimesThatAddUp checks that times whose sum is too large are an error and do not overflow.
func TestTimesThatAddUp(t *testing.T) {
	for name, m := range map[string]sim.Model{
		"loggp":  sim.LogGP{L: 1 << 52},
		"linear": sim.Linear{PerByte: 1000 << 51},
		"links":  sim.Links{Up: sim.Link{Rate: 1}},
		"switch": sim.Linear{},
	} {
		c, algorithm, bytes := sim.Config{Model: m}, "bcast/linear", 1
		switch name {
		case "loggp":
			algorithm = "bcast/chain"
		case "links":
			bytes = 500_000
		case "switch":
			c.Switch = 1000 << 51
		}
		c.Bytes = bytes
		_, err := sim.Run(spec(t, algorithm, schedule.Params{Ranks: 20_000}), c)
		require.ErrorContains(t, err, "times exceed 4611686018427387903 ns", name)
	}
}

func TestBadConfigs(t *testing.T) {
	good := sim.Config{Model: sim.DefaultLogGP()}
	for want, change := range map[string]func(*sim.Config){
		"no model":                              func(c *sim.Config) { c.Model = nil },
		"a block of -1 bytes":                   func(c *sim.Config) { c.Bytes = -1 },
		"a loss of NaN":                         func(c *sim.Config) { c.Loss = math.NaN() },
		"a loss of 1.5":                         func(c *sim.Config) { c.Loss = 1.5 },
		"noise of -1 ns":                        func(c *sim.Config) { c.Noise = -1 },
		"repair of -1 ns":                       func(c *sim.Config) { c.Repair = -1 },
		"repair of 17179869185 ns":              func(c *sim.Config) { c.Repair = 1<<34 + 1 },
		"switch: a parameter is negative":       func(c *sim.Config) { c.Switch = -1 },
		"switch and 1 bytes: times could":       func(c *sim.Config) { c.Switch = math.MaxInt64 },
		"links: 2000000000 bytes: times could":  func(c *sim.Config) { c.Model, c.Bytes = sim.Links{}, 2e9 },
		"a rank arrives at -5 ns":               func(c *sim.Config) { c.Arrival.Late = -5 },
		"2 times of arrival for 3 ranks":        func(c *sim.Config) { c.Arrival.At = make([]sim.Time, 2) },
		"4 hosts: must be in 1..3":              func(c *sim.Config) { c.Hosts = 4 },
		"linear model: a parameter is negative": func(c *sim.Config) { c.Model = sim.Linear{T0: -1} },
		"links: a queue of 5":                   func(c *sim.Config) { c.Model = sim.Links{Up: sim.Link{Queue: 5}} },
		"a host has no hosts in it":             func(c *sim.Config) { c.Model = sim.LogGP{Near: &sim.LogGP{Near: &sim.LogGP{}}} },
		"times could exceed":                    func(c *sim.Config) { c.Bytes = 1 << 50 },
		"3 ranks, and 4 of barrier/hsb before": func(c *sim.Config) {
			c.Before = spec(t, "barrier/hsb", schedule.Params{Ranks: 4})
		},
	} {
		c := good
		change(&c)
		_, err := sim.Run(spec(t, "bcast/chain", schedule.Params{Ranks: 3}), c)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "simulate bcast/chain: ")
	}
}

// TestRepairsOfBusyRanks checks that a repair that a busy rank postpones does not count as made.
// Everything comes, although all multicasts are lost and a repair is due each µs.
func TestRepairsOfBusyRanks(t *testing.T) {
	spec, err := schedule.New("bcast/mcast-acktree", schedule.Params{Ranks: 17, Chunks: 2})
	require.NoError(t, err)
	s, err := sim.New(spec, sim.Config{
		Model:  sim.Links{O: 667, Up: sim.Link{Rate: 1e9}, Down: sim.Link{Rate: 2e9}},
		Switch: 1, Bytes: 3851, Loss: 1, Repair: 1000,
	})
	require.NoError(t, err)
	r, err := s.Run(0)
	require.NoError(t, err)
	require.NotEqual(t, sim.Never, r.Makespan)
}

// TestOtherwise checks that an adaptive root chooses the other schedule if many ranks lose its
// multicasts, and only then.
func TestOtherwise(t *testing.T) {
	chain, tree := spec(t, "bcast/mcast-chain", schedule.Params{Ranks: 32}), spec(t, "bcast/mcast-binomial", schedule.Params{Ranks: 32})
	span := func(c sim.Config, of sim.Programs) (sum sim.Time) {
		c.Model = sim.LogGP{L: 100_000, O: 10, Gap: 10}
		s, err := sim.New(of, c)
		require.NoError(t, err)
		for seed := range uint64(300) {
			r, err := s.Run(seed)
			require.NoError(t, err)
			if seed >= 100 {
				sum += r.Makespan
			}
		}
		return sum
	}
	for loss, chosen := range map[float64]sim.Programs{0.02: chain, 0.8: tree} {
		c := sim.Config{Loss: loss, Delay: sim.Delay{Fixed: 200_000, Adaptive: true}} // the drawn rank has called before
		fixed := span(c, chosen)
		c.Otherwise, c.Lost = tree, 0.3
		require.Equal(t, fixed, span(c, chain), "a loss of %v", loss)
	}
	_, err := sim.New(chain, sim.Config{Model: sim.DefaultLogGP(), Otherwise: spec(t, "bcast/mcast-binomial", schedule.Params{Ranks: 31})})
	require.ErrorContains(t, err, "32 ranks, root 0, and otherwise bcast/mcast-binomial of 31 ranks, root 0")
}
