package schedule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
)

func TestParamErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Params
		want string
	}{
		{"bcast/chain", Params{}, "schedule: ranks=0: must be in 1..1048576"},
		{"bcast/chain", Params{Ranks: -1}, "schedule: ranks=-1: must be in 1..1048576"},
		{"bcast/chain", Params{Ranks: MaxRanks + 1}, "schedule: ranks=1048577: must be in 1..1048576"},
		{"bcast/chain", Params{Ranks: 1 << 62}, "schedule: ranks=4611686018427387904: must be in 1..1048576"},
		{"bcast/chain", Params{Ranks: 4, Root: 4}, "schedule: root=4: must be in 0..3"},
		{"bcast/chain", Params{Ranks: 4, Root: -1}, "schedule: root=-1: must be in 0..3"},
		{"bcast/chain", Params{Ranks: 4, Chunks: -3}, "schedule: chunks=-3: must be in 1..1048576"},
		{"bcast/chain", Params{Ranks: 4, Chunks: MaxChunks + 1}, "schedule: chunks=1048577: must be in 1..1048576"},
		{"bcast/chain", Params{Ranks: 4, Hosts: 5}, "schedule: hosts=5: must be in 1..4"},
		{"bcast/chain", Params{Ranks: 4, Degree: 2}, "schedule: degree=2: not a parameter of bcast/chain"},
		{"anycast/circulant", Params{Ranks: 4, Root: 9}, "schedule: origin=9: must be in 0..3"},
		{"anycast/circulant", Params{Ranks: 4, Chunks: 2}, "schedule: chunks=2: must be in 1..1"},
		{"anycast/skip-ring", Params{Ranks: 4, Hosts: 2}, "schedule: hosts=2: not a parameter of anycast/skip-ring"},
		{"barrier/hsb", Params{Ranks: 4, Root: 1}, "schedule: root=1: not a parameter of barrier/hsb"},
		{"barrier/hsb", Params{Ranks: 4, Chunks: 1}, "schedule: chunks=1: not a parameter of barrier/hsb"},
		{"barrier/hsb-mcast", Params{Ranks: 4, Chunks: 2}, "schedule: chunks=2: must be in 1..1"},
		{"barrier/hsb", Params{Ranks: 4, FanIn: -2}, "schedule: fan-in=-2: must be in 1..1048576"},
		{"barrier/hsb", Params{Ranks: 4, FanOut: MaxFan + 1}, "schedule: fan-out=1048577: must be in 1..1048576"},
		{"barrier/exchange", Params{Ranks: 4, Degree: 1}, "schedule: degree=1: must be in 2..1048576"},
		{"allgather/ring", Params{Ranks: 4, Root: 1}, "schedule: root=1: not a parameter of allgather/ring"},
		{"gather/linear", Params{Ranks: 4, Root: 4}, "schedule: root=4: must be in 0..3"},
		{"alltoall/bruck", Params{Ranks: 4, Degree: 2}, "schedule: degree=2: not a parameter of alltoall/bruck"},
		{"scatter/linear", Params{Ranks: 1024, Chunks: ir.MaxChunks/1024 + 1}, fmt.Sprintf("schedule: chunks=%d: scatter among 1024 ranks has 1024 blocks, of at most %d chunks together", ir.MaxChunks/1024+1, ir.MaxChunks)},
		{"alltoall/linear", Params{Ranks: MaxRanks}, fmt.Sprintf("schedule: ranks=1048576: alltoall then has 1099511627776 blocks, more than %d", ir.MaxChunks)},
	} {
		_, err := New(c.name, c.p)
		var pe *ParamError
		require.ErrorAs(t, err, &pe, "%s %+v", c.name, c.p)
		require.EqualError(t, err, c.want)
	}
}

func TestNameErrors(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"chain", `schedule: no algorithm "chain"; did you mean one of bcast/chain, reduce/chain, scan/chain?`},
		{"barrier/disemination", `schedule: no algorithm "barrier/disemination"; did you mean barrier/dissemination?`},
		{"hbs", `schedule: no algorithm "hbs"`},
		{"bcast/hsb", `schedule: no algorithm "bcast/hsb"; did you mean barrier/hsb?`},
		{"Bcast/Chain", `schedule: no algorithm "Bcast/Chain"; did you mean bcast/chain?`},
		{"bcst/chian", `schedule: no algorithm "bcst/chian"; did you mean bcast/chain?`},
		{"barrier", `schedule: no algorithm "barrier"; did you mean one of barrier/hsb, barrier/hsb-mcast, barrier/exchange, barrier/dissemination?`},
		{"anycast/", `schedule: no algorithm "anycast/"; did you mean one of anycast/skip-ring, anycast/circulant, anycast/mcast-acktree?`},
		{"bcast/mc", `schedule: no algorithm "bcast/mc"; did you mean one of bcast/mcast-chain, bcast/mcast-binomial, bcast/mcast-acktree?`},
		{"ring", `schedule: no algorithm "ring"; did you mean allgather/ring or allreduce/ring?`},
		{"ri", `schedule: no algorithm "ri"`},
		{"/", `schedule: no algorithm "/"`},
		{"", `schedule: no algorithm ""`},
		{strings.Repeat("é", 50), `schedule: no algorithm "` + strings.Repeat("é", 32) + `…"`},
	} {
		_, err := New(c.name, Params{Ranks: 4})
		var ne *NameError
		require.ErrorAs(t, err, &ne)
		require.EqualError(t, err, c.want)
	}
}

func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Params
		want Params
	}{
		{"bcast/chain", Params{Ranks: 4}, Params{Ranks: 4, Chunks: 1}},
		{"bcast/symmetric", Params{Ranks: 4}, Params{Ranks: 4, Chunks: 3}},
		{"bcast/symmetric", Params{Ranks: 1}, Params{Ranks: 1, Chunks: 1}},
		{"bcast/symmetric", Params{Ranks: 9, Hosts: 3}, Params{Ranks: 9, Hosts: 3, Chunks: 2}},
		{"anycast/skip-ring", Params{Ranks: 4, Root: 2}, Params{Ranks: 4, Root: 2, Chunks: 1}},
		{"bcast/scatter-allgather", Params{Ranks: 9, Hosts: 3}, Params{Ranks: 9, Hosts: 3, Chunks: 3}},
		{"alltoall/bruck", Params{Ranks: 9}, Params{Ranks: 9, Chunks: 1}},
		{"gather/linear", Params{Ranks: 9, Root: 2}, Params{Ranks: 9, Root: 2, Chunks: 1}},
		{"barrier/exchange", Params{Ranks: 16}, Params{Ranks: 16, Degree: 16}},
		{"barrier/exchange", Params{Ranks: 17}, Params{Ranks: 17, Degree: 6}},
		{"barrier/exchange", Params{Ranks: 17, Hosts: 3}, Params{Ranks: 17, Hosts: 3, Degree: 3}},
		{"barrier/dissemination", Params{Ranks: 1}, Params{Ranks: 1, Degree: 2}},
		{"barrier/hsb", Params{Ranks: 16}, Params{Ranks: 16, FanIn: 15, FanOut: 15}},
		{"barrier/hsb", Params{Ranks: 17, FanIn: 2}, Params{Ranks: 17, FanIn: 2, FanOut: 6}},
		{"barrier/hsb", Params{Ranks: 1}, Params{Ranks: 1, FanIn: 1, FanOut: 1}},
		{"barrier/hsb-mcast", Params{Ranks: 9, Hosts: 5}, Params{Ranks: 9, Hosts: 5, Chunks: 1, FanIn: 4, FanOut: 4}},
	} {
		s, err := New(c.name, c.p)
		require.NoError(t, err)
		require.Equal(t, c.want, s.Params(), "%s %+v", c.name, c.p)
	}
}

func TestHeader(t *testing.T) {
	s, err := New("barrier/hsb", Params{Ranks: 9, FanIn: 2, FanOut: 3, Hosts: 4})
	require.NoError(t, err)
	require.Equal(t, ir.Header{Collective: "barrier", Algorithm: "hsb", Ranks: 9, Params: []ir.Param{
		{Name: "fan-in", Value: 2}, {Name: "fan-out", Value: 3}, {Name: "hosts", Value: 4}}}, s.Header())

	s, err = New("bcast/mcast-chain", Params{Ranks: 9, Root: 3, Chunks: 7})
	require.NoError(t, err)
	require.Equal(t, ir.Header{Collective: "bcast", Algorithm: "mcast-chain", Ranks: 9, Root: 3, Chunks: 7, Recovers: true}, s.Header())
	require.Nil(t, s.Overlay())

	s, err = New("alltoall/pairwise", Params{Ranks: 5, Chunks: 3, Hosts: 2})
	require.NoError(t, err)
	require.Equal(t, ir.Header{Collective: "alltoall", Algorithm: "pairwise", Ranks: 5, Chunks: 75, Params: []ir.Param{{Name: "hosts", Value: 2}}}, s.Header())
}

// TestProgramOfMissingRank checks that a rank that does not exist has an empty program.
func TestProgramOfMissingRank(t *testing.T) {
	s, err := New("bcast/linear", Params{Ranks: 3})
	require.NoError(t, err)
	for _, rank := range []int{-1, 3} {
		require.Equal(t, ir.Program{Rank: rank}, s.Program(rank))
	}
}

// TestSize compares the closed form with the schedule.
func TestSize(t *testing.T) {
	for _, alg := range Algorithms() {
		for _, p := range variants(&alg, 21) {
			s, err := New(alg.Name, p)
			require.NoError(t, err)
			var rules, acts int64
			for _, prog := range s.Schedule().Programs {
				rules += int64(len(prog.Rules))
				acts += int64(len(targets(prog)))
			}
			gotRules, gotActs := s.Size()
			require.Equal(t, []int64{rules, acts}, []int64{gotRules, gotActs}, s.label())
			if most := max(rules, acts); most > 0 {
				gotRules, gotActs = s.SizeUpTo(most)
				require.Equal(t, []int64{rules, acts}, []int64{gotRules, gotActs}, s.label())
				require.Greater(t, max(s.SizeUpTo(most-1)), most-1, s.label())
			}
		}
	}
}
