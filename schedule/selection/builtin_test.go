package selection_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/sim"
)

// TestBuiltinCoversAllCollectives checks that every collective of the table has an algorithm in
// every case, and that New accepts the built-in rules.
func TestBuiltinCoversAllCollectives(t *testing.T) {
	table, err := selection.New(selection.Builtin().List())
	require.NoError(t, err)
	require.Zero(t, table.Digest())
	for _, row := range ir.Collectives() {
		for _, ranks := range []int{1, 2, 3, 7, 8, 9, 100, schedule.MaxRanks} {
			_, ok := table.Of(selection.Case{Collective: row.Name, Ranks: ranks, Bytes: 1 << 20})
			require.True(t, ok, row.Name)
		}
	}
}

// modelledCell is a case of ranks that each have a host, on the network of streams or of RDMA.
type modelledCell struct {
	collective   string
	ranks, bytes int
	rdma         bool
}

// worse returns by how much the built-in rules take longer than the fastest algorithm of the model of
// the network. ok is false if a schedule is too large to be priced.
//
// Rules that multicast follow measurements: the model knows neither datagrams nor what is lost. So
// there is no multicast here.
func (m modelledCell) worse(t require.TestingT) (ratio float64, words string, ok bool) {
	c := selection.Case{Collective: m.collective, Ranks: m.ranks, Bytes: m.bytes, Place: selection.OneEach, RDMA: m.rdma}
	d, ok := selection.Builtin().Of(c)
	require.True(t, ok)
	params, err := d.Rule.Params.In(d.Rule.Algorithm, &c, 0)
	require.NoError(t, err)
	network := selection.Network(m.rdma)
	took, err := selection.Cost(d.Rule.Algorithm, params, c, network)
	require.NoError(t, err)
	all, err := selection.Compare(c, network)
	require.NoError(t, err)
	best := all[0]
	if took == sim.Never || best.Time == sim.Never {
		return 0, "", false
	}
	return float64(took) / float64(best.Time), fmt.Sprintf("%s of %v: %s %+v takes %d ns, %s %+v %d", m.collective, &c, d.Rule.Algorithm, params, took, best.Algorithm, best.Params, best.Time), true
}

// TestBuiltinFollowsTheModel checks that the built-in rules choose nothing that the model of the
// network calls 1.3 times slower than the best algorithm, where each rank has a host. Daily tests
// take cells at which rules used to be wrong, and a few others.
func TestBuiltinFollowsTheModel(t *testing.T) {
	cells := []modelledCell{
		{schedule.Barrier, 16, 0, true}, {schedule.Barrier, 8, 0, true}, {schedule.Barrier, 17, 0, false},
		{schedule.Bcast, 9, 8 << 10, false}, {schedule.Bcast, 5, 16 << 10, false}, {schedule.Bcast, 3, 4 << 10, true},
		{schedule.Allreduce, 3, 64, false}, {schedule.Allreduce, 9, 8, false}, {schedule.Allreduce, 7, 1 << 10, false},
		{schedule.Reduce, 5, 16 << 10, false}, {schedule.Reduce, 8, 1 << 10, false},
		{schedule.ReduceScatter, 5, 1 << 10, false}, {schedule.ReduceScatter, 3, 8 << 10, true},
		{schedule.Scan, 5, 16 << 10, false}, {schedule.Exscan, 5, 32 << 10, false},
		{"alltoall", 4, 1 << 10, true}, {"alltoall", 7, 4 << 10, true}, {"allgather", 8, 8, true}, {"gather", 9, 8, true}, {"scatter", 9, 8, true},
	}
	if heavy.Tests() {
		cells = modelledGrid()
	}
	priced := 0
	for _, m := range cells {
		if ratio, words, ok := m.worse(t); ok {
			priced++
			assert.LessOrEqual(t, ratio, 1.3, words)
		}
	}
	require.Greater(t, priced, len(cells)*3/4)
}

// modelledGrid returns all cells. It leaves out collectives in which all of very many ranks tell all
// others, because each takes a minute.
func modelledGrid() (cells []modelledCell) {
	add := func(collectives []string, ranks, bytes []int) {
		for _, collective := range collectives {
			for _, p := range ranks {
				for _, n := range bytes {
					cells = append(cells, modelledCell{collective, p, n, false}, modelledCell{collective, p, n, true})
				}
			}
		}
	}
	var all []string
	for _, row := range ir.Collectives() {
		all = append(all, row.Name)
	}
	add(all, []int{2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24}, []int{8, 256, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10})
	add(all, []int{2, 5, 8, 9}, []int{1 << 20, 64 << 20})
	add(all, []int{33, 64}, []int{8, 16 << 10})
	add([]string{schedule.Barrier, schedule.Bcast, schedule.Reduce, schedule.Scan, schedule.Allreduce}, []int{100}, []int{8, 128 << 10})
	add([]string{schedule.Barrier, schedule.Bcast, "scatter", "gather", schedule.Reduce, schedule.Scan}, []int{256, 1000}, []int{8, 64 << 10})
	return cells
}

// TestLargeBroadcastsFollowTheModel compares the choice among very many ranks with algorithms of
// default parameters.
func TestLargeBroadcastsFollowTheModel(t *testing.T) {
	for _, ranks := range heavy.Or([]int{256}, []int{256, 1000, 1024}) {
		c := selection.Case{Collective: schedule.Bcast, Ranks: ranks, Bytes: 64 << 10, Place: selection.OneEach}
		d, ok := selection.Builtin().Of(c)
		require.True(t, ok)
		params, err := d.Rule.Params.In(d.Rule.Algorithm, &c, 0)
		require.NoError(t, err)
		took, err := selection.Cost(d.Rule.Algorithm, params, c, selection.Network(false))
		require.NoError(t, err)
		for _, name := range []string{"bcast/binomial", "bcast/symmetric"} {
			other, err := selection.Cost(name, schedule.Params{Ranks: ranks}, c, selection.Network(false))
			require.NoError(t, err)
			require.LessOrEqual(t, float64(took), 1.3*float64(other), "%d ranks: %s beside %s", ranks, d.Rule.Algorithm, name)
		}
	}
}

// TestRulesLeaveCasesToTheModel checks a file with a rule that leaves its cases to the model.
func TestRulesLeaveCasesToTheModel(t *testing.T) {
	table, err := selection.New([]selection.Rule{
		{Collective: schedule.Bcast, Place: selection.OneEach, Algorithm: selection.Modelled, Line: 3},
		{Collective: schedule.Bcast, Algorithm: selection.BuiltIn, Line: 4},
	})
	require.NoError(t, err)
	d, ok := table.Of(selection.Case{Collective: schedule.Bcast, Ranks: 100, Bytes: 8, Place: selection.OneEach})
	require.True(t, ok)
	require.True(t, d.Own)
	require.Equal(t, 3, d.From.Line)
	require.Equal(t, "bcast/binomial", d.Rule.Algorithm)

	_, err = selection.New([]selection.Rule{{Collective: schedule.Bcast, Algorithm: selection.Modelled, Params: selection.Params{Chunk: 1}}})
	require.ErrorContains(t, err, "params: the model chooses them")
	_, err = selection.New([]selection.Rule{{Collective: schedule.Anycast, Algorithm: selection.Modelled}})
	require.ErrorContains(t, err, "the model has no algorithm of anycast")
}
