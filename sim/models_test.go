package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

func simulate(t require.TestingT, name string, p schedule.Params, c sim.Config) *sim.Result {
	s, err := schedule.New(name, p)
	require.NoError(t, err)
	r, err := sim.Run(s, c)
	require.NoError(t, err)
	return r
}

// TestEquationsOfTheLinearModel checks equations 1 and 2 of paper 004 for the linear broadcast, and
// 4 and 5 for the symmetric one, with p destinations, n bytes, and fragments of n/p bytes.
func TestEquationsOfTheLinearModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.IntRange(1, 30).Draw(t, "p")
		part := rapid.IntRange(1, 5000).Draw(t, "n/p")
		n := sim.Time(p * part)
		t0, td := sim.Time(rapid.IntRange(0, 1e6).Draw(t, "t0")), sim.Time(rapid.IntRange(0, 100).Draw(t, "td"))
		m := sim.Linear{T0: t0, PerByte: sim.PerByte(td * 1000)}
		params := schedule.Params{Ranks: p + 1, Root: rapid.IntRange(0, p).Draw(t, "root")}
		of := func(name string, sync bool) sim.Time {
			m.Sync = sync
			return simulate(t, name, params, sim.Config{Model: m, Bytes: int(n)}).Makespan
		}
		require.Equal(t, sim.Time(p)*(t0+n*td), of("bcast/linear", true), "equation 2; of one destination equation 1")
		require.Equal(t, t0+sim.Time(p)*n*td, of("bcast/linear", false), "as equation 4 counts")
		second := t0 + n*td*sim.Time(p-1)/sim.Time(p)
		if p == 1 {
			second = 0 // equation 5 counts a second phase that does not exist
		}
		require.Equal(t, t0+n*td+second, of("bcast/symmetric", false), "equation 5")
	})
}

// TestSaturatedSwitch checks that all messages of the second phase wait for a switch that passes on
// one byte at a time: p times as many bytes cross it as a link.
func TestSaturatedSwitch(t *testing.T) {
	const p, n = 8, 8000
	of := func(name string, sw sim.PerByte) sim.Time {
		c := sim.Config{Model: sim.Linear{T0: 500, PerByte: 1000}, Bytes: n, Switch: sw}
		return simulate(t, name, schedule.Params{Ranks: p + 1}, c).Makespan
	}
	require.Equal(t, of("bcast/symmetric", 0), of("bcast/symmetric", 1000/p), "as fast as all senders together")
	require.Greater(t, of("bcast/symmetric", 1000), sim.Time(p*n), "p times n bytes cross it")
	require.Equal(t, of("bcast/chain", 0), of("bcast/chain", 1000), "one link at a time is no more than the switch bears")
}

func TestLinks(t *testing.T) {
	// 1 and 0.5 bytes a ns
	m := sim.Links{O: 10, Loop: 50, Up: sim.Link{Rate: 8e9, Delay: 100}, Down: sim.Link{Rate: 4e9, Delay: 200}}
	returns := func(name string, p schedule.Params, hosts int) []sim.Time {
		return simulate(t, name, p, sim.Config{Model: m, Bytes: 1000, Hosts: hosts}).Returns
	}
	one := sim.Time(10 + 100 + 2000 + 200 + 10)
	require.Equal(t, []sim.Time{10, one}, returns("bcast/linear", schedule.Params{Ranks: 2}, 0), "the slower link counts")
	require.Equal(t, []sim.Time{20, one, one + 1000}, returns("bcast/linear", schedule.Params{Ranks: 3}, 0), "the sender's link is shared")
	require.Equal(t, []sim.Time{20, 10 + 50 + 10, one + 10}, returns("bcast/linear", schedule.Params{Ranks: 3}, 2), "ranks of one host need none")
	long := simulate(t, "bcast/linear", schedule.Params{Ranks: 2}, sim.Config{Model: m, Bytes: 1 << 30})
	require.Equal(t, sim.Time(2<<30+320), long.Makespan, "1 GiB")
	m.Up, m.Down = m.Down, m.Up
	require.Equal(t, one, returns("bcast/linear", schedule.Params{Ranks: 2}, 0)[1])
	r := simulate(t, "bcast/mcast-chain", schedule.Params{Ranks: 4}, sim.Config{Model: m, Bytes: 1000, Loss: 1})
	require.Equal(t, []int{2, 1, 1, 0}, []int{r.Loads[0].Up.Packets, r.Loads[1].Up.Packets, r.Loads[2].Up.Packets, r.Loads[3].Up.Packets})
	require.Equal(t, 2000, r.Loads[3].Down.Bytes, "what is lost has crossed the link")
	require.Equal(t, int64(3), r.Counts.Lost)
}

// TestLinkToTheReceiver checks that two senders to one host share the link to it, whenever they
// send.
func TestLinkToTheReceiver(t *testing.T) {
	put := func(to int) ir.Program {
		return ir.Program{Rules: []ir.Rule{{When: []ir.Slot{ir.Enter}, Do: []ir.Action{ir.PutTo(ir.Chunk(0), to)}}}}
	}
	s := &ir.Schedule{Header: ir.Header{Collective: "bcast", Algorithm: "two", Ranks: 3, Chunks: 2},
		Programs: []ir.Program{put(2), put(2), {Done: []ir.Slot{ir.Chunk(0), ir.Chunk(1)}}}}
	s.Programs[1].Rules[0].Do[0].Slot = ir.Chunk(1)
	r, err := sim.Run(sim.Of(s), sim.Config{Model: sim.Links{Up: sim.Link{Rate: 8e9}, Down: sim.Link{Rate: 8e9}}, Bytes: 2000})
	require.NoError(t, err)
	require.Equal(t, sim.Time(2000), r.Makespan)
	require.Equal(t, sim.Time(2000), r.Loads[2].Down.Busy)
}
