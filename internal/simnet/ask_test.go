package simnet

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/runtime/wire"
)

// surveying returns a scenario in which ranks ask, and all wait for the results.
func surveying(t *rapid.T, least, most, rounds int) *Scenario {
	size := rapid.IntRange(least, most).Draw(t, "ranks")
	sc := still(size, nil)
	sc.Seed = rapid.Uint64().Draw(t, "seed")
	sc.Close, sc.Net.Ordered = true, false
	sc.Net.Up.Delay, sc.Net.Down.Delay = 25*Microsecond, 25*Microsecond
	sc.Comm.PublishWindow = rapid.IntRange(1, 3).Draw(t, "window")
	sc.Comm.Anyreduce = rapid.SampledFrom(algorithms("anyreduce")).Draw(t, "anyreduce")
	for range rounds {
		root := rapid.IntRange(-1, size-1).Draw(t, "origin")
		sc.Script = append(sc.Script, Op{Kind: OpAsk, Root: root, Count: 3, Bytes: 200}, Op{Kind: OpLearn})
	}
	return sc
}

// Every question has the answers of all ranks, and all ranks learn the result, whatever the network
// loses and whichever rank pauses, begins late or takes long to answer, although each rank closes
// as soon as it knows the results.
func TestQuestions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sc := surveying(rt, 1, 24, 3)
		for range rapid.IntRange(0, 3).Draw(rt, "faults") {
			f := Fault{
				Kind: rapid.SampledFrom([]FaultKind{FaultLoss, FaultReorder, FaultPause, FaultLate}).Draw(rt, "fault"), Host: -1,
				Rank: rapid.IntRange(0, sc.Ranks-1).Draw(rt, "rank"), PerMille: rapid.IntRange(1, 500).Draw(rt, "per mille"),
				Until: Time(rapid.IntRange(0, 200).Draw(rt, "until")) * Millisecond, Amount: Millisecond,
			}
			sc.Faults = append(sc.Faults, f)
		}
		for _, c := range runs(rt, sc).Calls {
			require.NoError(rt, c.Err)
		}
	})
}

// A question and its result by multicast take one hop each, and the answers as many as the tree of the
// origin is deep: with 16 ranks, the origin has the result after 5 hops and all have it after 6, where
// puts alone take 8 and 12. The ranks are connected by a first question.
func TestHopsOfQuestions(t *testing.T) {
	const hop = 50 * Microsecond
	for name, want := range map[string][2]Time{"anyreduce/circulant": {8, 12}, "anyreduce/mcast-acktree": {5, 6}} {
		ask := []Op{{Kind: OpAsk, Count: 1, Bytes: 20}, {Kind: OpLearn}}
		sc := still(16, nil, append(append(ask, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"}), ask...)...)
		sc.Prompt, sc.Net.Up.Delay, sc.Net.Down.Delay = true, hop/2, hop/2
		sc.Comm.Anyreduce = name
		var asks, origin, all Time
		for _, c := range runs(t, sc).Calls {
			if c.Rank == 0 && c.Step == len(ask)+1 {
				asks, origin = c.Enter, c.Return
			}
			all = max(all, c.Return)
		}
		require.Equal(t, want, [2]Time{(origin - asks) / hop, (all - asks) / hop}, name)
	}
}

// A leaf that loses a question is asked after one timeout. Any other rank learns of its loss from the
// answers of the ranks below.
func TestLostQuestionCostsOneTimeout(t *testing.T) {
	for lost, want := range map[int]Time{1: base, 2: base / 8, 4: base / 8} { // children of rank 0
		sc := still(8, []Fault{drops(lost, ByMulticast)}, Op{Kind: OpAsk, Count: 1, Bytes: 20})
		sc.Prompt, sc.Comm.Anyreduce = true, "anyreduce/mcast-acktree"
		r := runs(t, sc)
		asked := Second
		for _, c := range r.Calls {
			if c.Rank == 0 {
				asked = min(asked, c.Return)
			}
		}
		require.GreaterOrEqual(t, asked, want, "rank %d", lost)
		require.Less(t, asked, 2*want, "rank %d", lost)
	}
}

// A rank that dies ends every question, at all ranks, with its name in the error, even if its
// connections do not end.
func TestQuestionsOfTheDead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sc := surveying(rt, 2, 20, 60)
		dead := rapid.IntRange(0, sc.Ranks-1).Draw(rt, "dead")
		kind := rapid.SampledFrom([]FaultKind{FaultCrash, FaultSilent}).Draw(rt, "fault")
		sc.Faults = []Fault{{Kind: kind, Rank: dead, From: Time(rapid.IntRange(0, 3000).Draw(rt, "from")) * Microsecond}}
		sc.Comm.Silence, sc.Net.GiveUp, sc.Close = Second, 3600*Second, false
		r := runs(rt, sc)
		for _, c := range r.Calls {
			var about *core.RankError
			if errors.As(c.Err, &about) {
				require.Equal(rt, dead, about.Rank, "rank %d: %v", c.Rank, c.Err)
			}
		}
	})
}

// Answers that are lost, wrong or given twice are found.
func TestWrongAnswersAreFound(t *testing.T) {
	of := func(kind wire.FrameKind, f func(g *wire.Frame) *wire.Frame) func(*wire.Frame) *wire.Frame {
		return func(g *wire.Frame) *wire.Frame {
			if g.Kind != kind {
				return g
			}
			return f(g)
		}
	}
	flip := func(f *wire.Frame) *wire.Frame {
		g := *f
		if g.Body = append([]byte(nil), f.Body...); len(g.Body) > 1 {
			g.Body[len(g.Body)-1] ^= 1
		}
		return &g
	}
	ask := scripted(4, Op{Kind: OpAsk, Root: 1, Count: 3, Bytes: 100}, Op{Kind: OpLearn})
	violated(t, ask, lying(0, of(wire.FrameAnswer, flip)), "has a wrong result of question")
	says := func(first byte) func(f *wire.Frame) *wire.Frame {
		return of(wire.FramePublish, func(f *wire.Frame) *wire.Frame {
			if f.Body[0] != first {
				return f
			}
			return flip(f)
		})
	}
	violated(t, ask, lying(1, says(1)), "has a wrong result of question")
	violated(t, ask, lying(1, says(0)), "with wrong bytes")
}
