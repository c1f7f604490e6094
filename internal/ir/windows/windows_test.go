package windows_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/ir/windows"
	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

func parsed(t *testing.T, text string) *ir.Schedule {
	s, err := ir.ParseText(strings.NewReader(text))
	require.NoError(t, err)
	return s
}

// mixed has four kinds of signals. s0 is posted, and also put to one rank by itself. s1 is put to
// several ranks by two rules. s2 is put to one rank each by two rules. s3 and others make several
// posts of one rule.
const mixed = `schedule barrier/mixed ranks=5
rank 0
  enter -> put s0 @1, put s0 @3, put s1 @1, put s1 @2, put s3 @2, put s3 @3
  enter -> put s0 @2, put s2 @1
  s0 -> put s1 @3, put s1 @4, put s2 @3
  done s0
rank 1
  enter -> put s0 @0, put s0 @4
  done s0 s1 s2
rank 2
  done s0 s1 s3
rank 3
  done s0 s1 s2 s3
rank 4
  done s0 s1
`

func TestPlaces(t *testing.T) {
	own := func(signal, from int) windows.Await { return windows.Await{Signal: signal, From: from} }
	posted := func(signal, from int) windows.Await { return windows.Await{Signal: signal, From: from, Posted: true} }
	want := []windows.Places{
		{
			Awaits: []windows.Await{posted(0, 1)},
			Posts:  []windows.Post{{Signal: 0, To: []int{1, 3}}, {Signal: 3, To: []int{2, 3}}},
		},
		{
			Awaits: []windows.Await{posted(0, 0), own(1, 0), own(2, 0)},
			Posts:  []windows.Post{{Signal: 0, To: []int{0, 4}}},
		},
		{Awaits: []windows.Await{own(0, 0), own(1, 0), posted(3, 0)}},
		{Awaits: []windows.Await{posted(0, 0), own(1, 0), own(2, 0), posted(3, 0)}},
		{Awaits: []windows.Await{posted(0, 1), own(1, 0)}},
	}
	s := parsed(t, mixed)
	require.True(t, windows.Has(s))
	require.Equal(t, want, windows.All(s))
	for rank := range want {
		require.NoError(t, want[rank].Check(&s.Programs[rank], s.Ranks))
	}
}

// barriers returns the barriers whose signals may be flags.
func barriers() (names []string) {
	for _, a := range schedule.Algorithms() {
		if spec, err := schedule.New(a.Name, schedule.Params{Ranks: 3}); err == nil && windows.Has(spec.Schedule()) {
			names = append(names, a.Name)
		}
	}
	return names
}

func TestHas(t *testing.T) {
	require.Equal(t, []string{"barrier/hsb", "barrier/exchange", "barrier/dissemination"}, barriers())
	repairs := parsed(t, "schedule barrier/pair ranks=2\nrank 0\n  enter unless s0 after 1 -> put s0 @1\n  done s0\nrank 1\n  enter -> put s0 @0\n  done s0\n")
	require.False(t, windows.Has(repairs))
	_, ok := windows.Of(1, 2, func(rank int) ir.Program { return repairs.Programs[rank] })
	require.False(t, ok)
	for what, spoil := range map[string]func(p *ir.Program){
		"one put twice":         func(p *ir.Program) { p.Rules[0].Do = append(p.Rules[0].Do, p.Rules[0].Do[0]) },
		"one of two writers":    func(p *ir.Program) { p.Rules[0].Do[0] = ir.PutTo(ir.Signal(0), 2) },
		"one that nobody has":   func(p *ir.Program) { p.Rules[0].Do[0] = ir.PutTo(ir.Signal(2), 4) },
		"one of oneself":        func(p *ir.Program) { p.Rules[0].Do[0] = ir.PutTo(ir.Signal(0), 1) },
		"one of no rank":        func(p *ir.Program) { p.Rules[0].Do[0] = ir.PutTo(ir.Signal(0), 5) },
		"one of a rank below 0": func(p *ir.Program) { p.Rules[0].Do[0] = ir.PutTo(ir.Signal(0), -1) },
	} {
		s := parsed(t, mixed)
		spoil(&s.Programs[1])
		require.False(t, windows.Has(s), what)
	}
	chunks := parsed(t, mixed)
	chunks.Chunks = 1
	require.False(t, windows.Has(chunks))
}

// drawn draws a barrier of any degrees, fans and hosts.
func drawn(t *rapid.T) *schedule.Spec {
	few := func(what string) int { return rapid.IntRange(2, 9).Draw(t, what) }
	p := schedule.Params{Ranks: rapid.IntRange(1, 70).Draw(t, "ranks")}
	name := rapid.SampledFrom(barriers()).Draw(t, "name")
	if rapid.Bool().Draw(t, "params") {
		if name == "barrier/hsb" {
			p.FanIn, p.FanOut = few("fan-in")-1, few("fan-out")-1
		} else {
			p.Degree = few("degree")
		}
	}
	if rapid.Bool().Draw(t, "on hosts") {
		p.Hosts = rapid.IntRange(1, p.Ranks).Draw(t, "hosts")
	}
	spec, err := schedule.New(name, p)
	if err != nil {
		t.Skip(err)
	}
	return spec
}

// TestRanksAgree checks that Of and All agree. It also checks that the rank that puts a signal and
// the rank that waits for it agree where it is, and that each line of a rank has one meaning.
func TestRanksAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawn(t)
		s := spec.Schedule()
		all := windows.All(s)
		puts := 0
		for rank := range all {
			one, ok := windows.Of(rank, s.Ranks, spec.Program)
			require.True(t, ok)
			require.Equal(t, all[rank], one)
			require.NoError(t, one.Check(&s.Programs[rank], s.Ranks))
			lines := make(map[[2]int]bool) // the rank of the window, the signal
			for _, a := range one.Awaits {
				at := [2]int{rank, a.Signal}
				if a.Posted {
					at[0] = a.From
				}
				require.False(t, lines[at], "%+v", a)
				lines[at] = true
				require.Equal(t, a.Posted, slices.ContainsFunc(all[a.From].Posts, func(p windows.Post) bool {
					return p.Signal == a.Signal && slices.Contains(p.To, rank)
				}))
			}
			require.Len(t, lines, s.Programs[rank].Signals, "every signal stands somewhere")
			for _, r := range s.Programs[rank].Rules {
				puts += len(r.Do)
			}
			for _, p := range one.Posts {
				require.Greater(t, len(p.To), 1)
			}
		}
		for rank := range all {
			puts -= len(all[rank].Awaits)
		}
		require.Zero(t, puts)
	})
}

func TestCheck(t *testing.T) {
	s := parsed(t, mixed)
	for want, places := range map[string]windows.Places{
		"flags of rank 1: signal 0 is from rank 5 of 5":                {Awaits: []windows.Await{{Signal: 0, From: 5}}},
		"flags of rank 1: signal 0 is from rank -1 of 5":               {Awaits: []windows.Await{{Signal: 0, From: -1}}},
		"flags of rank 1: signal 0 is from rank 1 of 5":                {Awaits: []windows.Await{{Signal: 0, From: 1}}},
		"flags of rank 1: signal 3 of 3 has no line":                   {Awaits: []windows.Await{{Signal: 3, From: 0}}},
		"flags of rank 1: signal -1 of 3 has no line":                  {Awaits: []windows.Await{{Signal: -1, From: 0, Posted: true}}},
		"flags of rank 1: signal 1 comes after signal 1":               {Awaits: []windows.Await{{Signal: 1, From: 0}, {Signal: 1, From: 2}}},
		"flags of rank 1: it does not post signal 0 to ranks []":       {Posts: []windows.Post{{}}},
		"flags of rank 1: it does not post signal -1 to ranks [0 4]":   {Posts: []windows.Post{{Signal: -1, To: []int{0, 4}}}},
		"flags of rank 1: it does not post signal 0 to ranks [4]":      {Posts: []windows.Post{{To: []int{0}}, {To: []int{4}}}},
		"flags of rank 1: it does not post signal 0 to ranks [0 4 -1]": {Posts: []windows.Post{{To: []int{0, 4, -1}}}},
	} {
		require.EqualError(t, places.Check(&s.Programs[1], s.Ranks), want)
	}
}
