package explore

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/schedule"
)

// walk applies at most steps events. It draws each event from those that can happen. Then it lets all
// ranks end in a fair order. It returns the first problem that it meets, or nil.
func walk(t require.TestingT, o Options, steps int, draw *rand.Rand) *Violation {
	sys, err := newSystem(o)
	require.NoError(t, err)
	x := newSearch(sys)
	w := x.initial()
	x.parents, x.events = []uint32{0}, []event{0}
	at := uint32(0)
	for range steps {
		will, may := x.system.options(w, nil, nil)
		all := slices.Concat(will, may)
		if len(all) == 0 {
			break
		}
		e := all[draw.IntN(len(all))]
		problem, _ := x.apply(w, e)
		if problem != "" {
			x.violated(problem, at, []event{e}, false)
			return x.report.Violation
		}
		if e.kind() == evRing && len(will) > 0 {
			w.early++
		}
		x.parents, x.events = append(x.parents, at), append(x.events, e)
		at++
	}
	if x.fair.check(w, at); x.ahead != nil {
		x.ahead()
	}
	return x.report.Violation
}

// walked fails t if a walk with drawn losses, duplicates, early alarms and sizes has a problem.
func walked(t *rapid.T, o Options, chunks int) {
	o.Losses, o.Duplicates, o.Early = rapid.IntRange(0, 9).Draw(t, "losses"), rapid.IntRange(0, 3).Draw(t, "duplicates"), rapid.IntRange(0, 9).Draw(t, "early")
	o.NoMulticast = rapid.IntRange(0, 3).Draw(t, "multicasts") == 0
	o.Pieces = rapid.IntRange(1, 3).Draw(t, "pieces")
	o.Parts = o.Pieces > 1
	o.Window = rapid.IntRange(0, chunks).Draw(t, "window")
	draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) // a draw of each step would take most of the time
	if v := walk(t, o, rapid.IntRange(0, 500).Draw(t, "steps"), draw); v != nil {
		t.Fatal(spell(v))
	}
}

// More ranks make more calls than a search can follow in every order, and have several open.
func TestWalks(t *testing.T) {
	all := slices.Collect(collectives)
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Ranks: rapid.IntRange(1, MaxRanks).Draw(t, "ranks"), Open: rapid.IntRange(1, core.MaxOpen).Draw(t, "open")}
		chunks := rapid.IntRange(1, 3).Draw(t, "chunks")
		for range rapid.IntRange(1, 7).Draw(t, "calls") {
			p := schedule.Params{Ranks: o.Ranks, Chunks: chunks}
			alg, _ := schedule.Named(rapid.SampledFrom(all).Draw(t, "algorithm"))
			if alg.Row().Rooted {
				p.Root = rapid.IntRange(0, o.Ranks-1).Draw(t, "root")
			}
			if alg.Row().Blocks == nil || alg.Uncut() || alg.Name == "bcast/symmetric" {
				p.Chunks = 0
			}
			spec, err := schedule.New(alg.Name, p)
			require.NoError(t, err)
			if spec.Header().Chunks <= MaxChunks {
				o.Calls = append(o.Calls, Call{Schedule: spec.Schedule(), Acked: alg.Acknowledged()})
			}
		}
		if o.Calls != nil {
			walked(t, o, chunks)
		}
	})
}

// Rootless messages of several ranks come along every overlay, between other calls.
func TestWalksOfMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Ranks: rapid.IntRange(1, MaxRanks).Draw(t, "ranks"), PublishWindow: rapid.IntRange(1, 6).Draw(t, "under way")}
		var names []string
		for _, a := range schedule.Algorithms() {
			if a.Collective == schedule.Anycast {
				names = append(names, a.Name)
			}
		}
		alg, _ := schedule.Named(rapid.SampledFrom(names).Draw(t, "overlay"))
		spec, err := schedule.New(alg.Name, schedule.Params{Ranks: o.Ranks})
		require.NoError(t, err)
		for range rapid.IntRange(1, MaxCalls).Draw(t, "calls") {
			o.Calls = append(o.Calls, Call{
				Overlay: spec.Overlay(), Multicast: alg.Multicasts(), Origin: rapid.IntRange(0, o.Ranks-1).Draw(t, "origin"),
				Flush: rapid.IntRange(0, 4).Draw(t, "flush") == 0,
			})
		}
		walked(t, o, 0)
	})
}
