package schedule

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule/build"
	"github.com/schedgen/schedgen/verify"
)

// star puts each chunk from the root to all.
func star(b *build.Builder) {
	for k := range b.Chunks() {
		for rank := range b.Ranks() {
			if rank != b.Root() {
				b.Chunk(b.Root(), k).PutTo(rank)
			}
		}
	}
}

// starred is the definition that tests register.
var starred = Definition{
	Name: "bcast/own-star", Collective: Bcast, Params: []string{"root", "chunks"},
	Summary: "a star", Messages: "F(P-1) puts", Build: star,
	Chunks: func(ranks int) int { return ranks / 2 },
}

// TestRegister registers an algorithm for the time of the test. New, Algorithms and suggestions know
// it as they know the built-in ones.
func TestRegister(t *testing.T) {
	before := len(Algorithms())
	require.NoError(t, Register(starred))
	defer registered.Store(nil)
	require.Len(t, Algorithms(), before+1)
	require.EqualError(t, Register(starred), `registering "bcast/own-star": there is an algorithm of this name already`)

	s, err := New("bcast/own-star", Params{Ranks: 7, Root: 3})
	require.NoError(t, err)
	require.Equal(t, 3, s.Header().Chunks)
	require.True(t, s.Registered())
	require.False(t, s.Unverified())
	require.False(t, s.Relays())
	rules, actions := s.Size()
	require.EqualValues(t, 1, rules)
	require.EqualValues(t, 18, actions)
	report, err := verify.Run(s.Schedule())
	require.NoError(t, err)
	require.NoError(t, report.Err())
	maker := s.Maker()
	for rank := range 7 {
		require.Equal(t, s.Schedule().Programs[rank], s.Program(rank))
		require.Equal(t, s.Program(rank), maker(rank))
	}
	require.Equal(t, ir.Program{Rank: 7}, s.Program(7))

	again, err := New("bcast/own-star", Params{Ranks: 7, Root: 3})
	require.NoError(t, err)
	require.Same(t, s.built, again.built, "built once")
	_, err = New("bcast/own-star", Params{Ranks: 7, Root: 7})
	require.EqualError(t, err, "schedule: root=7: must be in 0..6")
	_, err = New("bcast/own-star", Params{Ranks: 7, Degree: 2})
	require.EqualError(t, err, "schedule: degree=2: not a parameter of bcast/own-star")
	require.NoError(t, Check("bcast/own-star", Params{Ranks: 1}))
	_, err = New("bcast/own-sta", Params{Ranks: 7})
	require.ErrorContains(t, err, "did you mean bcast/own-star?")
}

// A definition that is wrong is refused when it is registered, or when its function runs.
func TestRegisterRefuses(t *testing.T) {
	defer registered.Store(nil)
	for _, c := range []struct {
		change func(d *Definition)
		want   string
	}{
		{func(d *Definition) { d.Name = "bcast/chain" }, `registering "bcast/chain": there is an algorithm of this name already`},
		{func(d *Definition) { d.Collective = "cast" }, `registering "bcast/own-star": no collective "cast"`},
		{func(d *Definition) { d.Collective = "anycast" }, `registering "bcast/own-star": messages of anycast are published along a graph of channels; register a bcast`},
		{func(d *Definition) { d.Name = "reduce/own" }, `registering "reduce/own": the name of an algorithm of bcast begins with bcast/`},
		{func(d *Definition) { d.Name = "bcast" }, `registering "bcast": "" is not a name: it starts with a lower-case letter and continues with lower-case letters, digits and hyphens`},
		{func(d *Definition) { d.Name = "bcast/Own" }, `registering "bcast/Own": "Own" is not a name: it starts with a lower-case letter and continues with lower-case letters, digits and hyphens`},
		{func(d *Definition) { d.Build = nil }, `registering "bcast/own-star": no function Build`},
		{func(d *Definition) { d.Params = []string{"root", "root"} }, `registering "bcast/own-star": parameter root is there twice`},
		{func(d *Definition) { d.Params = []string{"depth"} }, `registering "bcast/own-star": no parameter "depth"; there are root, chunks, degree, fan-in, fan-out and hosts`},
		{func(d *Definition) { d.Name, d.Collective = "allgather/own", "allgather" }, `registering "allgather/own": allgather has no root`},
		{func(d *Definition) { d.Name, d.Collective, d.Params = "barrier/own", "barrier", []string{"chunks"} }, `registering "barrier/own": barrier moves no chunks`},
	} {
		d := starred
		c.change(&d)
		require.EqualError(t, Register(d), c.want)
	}
	bad := starred
	bad.Build = func(b *build.Builder) { b.Chunk(0, 0).PutTo(b.Ranks()) }
	require.NoError(t, Register(bad))
	_, err := New(bad.Name, Params{Ranks: 3})
	require.ErrorContains(t, err, "schedule: bcast/own-star ranks=3 root=0 chunks=1: register_test.go:")
	require.ErrorContains(t, err, ": rank 3: the ranks are 0 … 2")

	bad.Name, bad.Build = "bcast/own-loud", func(b *build.Builder) { b.Chunk(0, 0).Mcast() }
	require.NoError(t, Register(bad))
	_, err = New(bad.Name, Params{Ranks: 3})
	require.ErrorContains(t, err, "it multicasts, so its Definition needs Multicasts")

	times := 0
	bad.Name, bad.Build = "bcast/own-random", func(b *build.Builder) {
		times++
		b.Chunk(0, 0).PutTo(1 + times%2)
	}
	require.NoError(t, Register(bad))
	_, err = New(bad.Name, Params{Ranks: 3})
	require.ErrorContains(t, err, "the function makes another schedule each time")

	bad.Name, bad.Build = "bcast/own-even", func(b *build.Builder) { b.Refuse("%d ranks are odd", b.Ranks()) }
	require.NoError(t, Register(bad))
	_, err = New(bad.Name, Params{Ranks: 3})
	var refusal *Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "3 ranks are odd", refusal.Reason)
	require.EqualError(t, err, "schedule: bcast/own-even ranks=3 root=0 chunks=1: 3 ranks are odd")
}

// Without the parameter chunks, each block is one chunk.
func TestRegisteredUncut(t *testing.T) {
	defer registered.Store(nil)
	d := starred
	d.Params, d.Chunks = []string{"root"}, nil
	require.NoError(t, Register(d))
	a, ok := Named(d.Name)
	require.True(t, ok)
	require.True(t, a.Uncut())
	s, err := New(d.Name, Params{Ranks: 4})
	require.NoError(t, err)
	require.Equal(t, 1, s.Header().Chunks)
}
