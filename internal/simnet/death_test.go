package simnet

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/schedule"
)

// knowing returns, by rank, whether the rank's calls have failed because a rank is dead.
func (r *Result) knowing() []bool {
	know := make([]bool, len(r.Cores))
	for _, c := range r.Calls {
		know[c.Rank] = errors.Is(c.Err, core.ErrPeerLost)
	}
	return know
}

// A dead rank cannot pass on that another rank is dead, but the ranks that it would have told learn
// it all the same. Only a rank that puts something to a dead rank finds it dead.
func TestDeathIsLearntByAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(2, 20).Draw(rt, "ranks")
		dead := rapid.SliceOfNDistinct(rapid.IntRange(0, size-1), 1, min(3, size-1), rapid.ID).Draw(rt, "dead")
		name := rapid.SampledFrom(algorithms("barrier")).Draw(rt, "barrier")
		sc := still(size, nil, Op{Kind: OpBarrier, Algorithm: name})
		sc.Net.GiveUp = Millisecond
		for _, rank := range dead {
			sc.Faults = append(sc.Faults, Fault{Kind: FaultSilent, Rank: rank})
		}
		for rank, knows := range runs(rt, sc).knowing() {
			require.Equal(rt, !slices.Contains(dead, rank), knows, "rank %d", rank)
		}
	})
}

// Only rank 0 has a connection to the dead rank and finds it dead. Rank 0 at once tells the ranks
// that the dead rank would have told.
func TestDeathIsToldAroundTheDead(t *testing.T) {
	for _, dead := range []int{1, 2, 4, 10} {
		sc := still(11, []Fault{{Kind: FaultCrash, Rank: dead}}, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"})
		sc.Comm.Stall = 3600 * Second
		r := runs(t, sc)
		require.Less(t, r.End, Second)
		for rank, knows := range r.knowing() {
			require.Equal(t, rank != dead, knows, "rank %d", rank)
		}
	}
}

// A rank without connections is lost only after a while.
func TestUnreachableRankIsLostAfterAWhile(t *testing.T) {
	faults := []Fault{{Kind: FaultLate, Rank: 1, Until: Second}, {Kind: FaultCrash, Rank: 1}, {Kind: FaultLate, Rank: 0, Until: Microsecond}}
	// rank 0 sends first
	r := runs(t, still(2, faults, Op{Kind: OpBarrier, Algorithm: "barrier/dissemination"}))
	require.ErrorIs(t, r.Calls[0].Err, core.ErrPeerLost)
	require.Equal(t, Second+Microsecond, r.returned()[0])
}

// Ranks that wait for messages, and have sent nothing, learn of a death.
func TestListenerLearnsOfDeath(t *testing.T) {
	for _, dead := range []int{0, 1, 5, 10} {
		faults := []Fault{{Kind: FaultLate, Rank: dead, Until: Second}, {Kind: FaultCrash, Rank: dead, From: Millisecond}}
		r := runs(t, still(11, faults, Op{Kind: OpPublish, Root: dead, Count: 1}, Op{Kind: OpTake}))
		for rank, knows := range r.knowing() {
			require.Equal(t, rank != dead, knows, "rank %d", rank)
		}
	}
}

// A rank dies while it publishes. The others agree how many of its messages have come to them, as
// every run checks: sometimes not the same number to all.
func TestMessagesOfADyingRank(t *testing.T) {
	for _, anycast := range algorithms(schedule.Anycast) {
		counted, differ := 0, 0
		for at := 200 * Microsecond; at < 4*Millisecond; at += 300 * Microsecond {
			sc := still(6, []Fault{
				{Kind: FaultCrash, Rank: 1, From: at}, {Kind: FaultLoss, Host: -1, Until: Second, PerMille: 300, Way: ByMulticast},
			}, Op{Kind: OpPublish, Root: 1, Count: 40, Bytes: 1000}, Op{Kind: OpTake})
			sc.Net.Up, sc.Net.Down = Link{Rate: 100e6, Delay: 10 * Microsecond}, Link{Rate: 100e6, Delay: 10 * Microsecond}
			sc.Net.Datagram, sc.Eager, sc.Comm.Anycast = 0, true, anycast
			for _, c := range runs(t, sc).Calls {
				var lost *core.LostError
				if errors.As(c.Err, &lost) && len(lost.Came) > 0 {
					require.Equal(t, 1, lost.Came[0].Rank)
					counted++
					if lost.Came[0].Least < lost.Came[0].Most {
						differ++
					}
				}
			}
		}
		require.NotZero(t, counted, anycast)
		require.NotZero(t, differ, anycast)
	}
}

// moments returns, by rank, the times at which it does something, or something arrives there, in a
// run without deaths.
func moments(t *testing.T, sc *Scenario) [][]Time {
	at := make([][]Time, sc.Ranks)
	var b strings.Builder
	_, err := Run(sc, &b)
	require.NoError(t, err)
	for line := range strings.Lines(b.String()) {
		var ms float64
		var of int
		if n, _ := fmt.Sscanf(line, "%f ms  rank %d ", &ms, &of); n == 2 {
			at[of] = append(at[of], Time(math.Round(ms*1e6)))
		}
	}
	for rank := range at {
		at[rank] = slices.Compact(at[rank])
	}
	return at
}

// outlived runs a scenario in which some ranks die and which ends with an agreement. All survivors
// agree on the dead ranks. Survivors whose calls fail name the same ranks.
func outlived(t *testing.T, sc *Scenario, dead ...int) {
	r := runs(t, sc)
	var named []int
	agreed := 0
	for _, c := range r.Calls {
		if slices.Contains(dead, c.Rank) {
			continue
		}
		if c.Err == nil && c.Step == len(sc.Script)-1 {
			agreed++
		}
		var lost *core.LostError
		if errors.As(c.Err, &lost) {
			if named == nil {
				named = lost.Ranks
			}
			require.Equal(t, named, lost.Ranks, "rank %d, faults %+v", c.Rank, sc.Faults)
			for _, l := range lost.Ranks {
				require.Contains(t, dead, l)
			}
		} else {
			require.NoError(t, c.Err, "rank %d, faults %+v", c.Rank, sc.Faults)
		}
	}
	require.Equal(t, sc.Ranks-len(dead), agreed, "faults %+v", sc.Faults)
}

// lifelines returns a scenario for every algorithm. Each ends with a barrier and an agreement.
func lifelines(ranks int) (all []*Scenario) {
	for _, o := range steps() {
		row := o.row()
		if row.Rooted {
			o.Root = ranks / 3
		}
		if row.Blocks != nil {
			o.Bytes, o.Chunks = 150, 2
			if a, _ := schedule.Named(o.Algorithm); a.Uncut() {
				o.Chunks = 1
			}
			if row.Blocks(ranks) > manyBlocks {
				continue // each run takes as long as all of the others
			}
		}
		all = append(all, still(ranks, nil, o))
	}
	for _, sc := range all {
		sc.Script = append(sc.Script, Op{Kind: OpBarrier, Algorithm: "barrier/dissemination"}, Op{Kind: OpAgree})
	}
	return all
}

// manyBlocks is the greatest number of blocks of a collective that is tested with a death at every
// step.
const manyBlocks = 64

// some returns at most n elements of a list at equal distances, with the first and the last among
// them.
func some[T any](list []T, n int) (few []T) {
	if len(list) <= n {
		return list
	}
	for i := range n {
		few = append(few, list[i*(len(list)-1)/(n-1)])
	}
	return few
}

// A rank dies before and after its steps: the root, ranks inside trees and at their leaves, and the
// last rank. With SCHEDGEN_HEAVY set there are more ranks, and no step is left out. Otherwise the
// test takes the root of each algorithm and one of the other ranks in turn.
func TestSurvivorsOfOneDeath(t *testing.T) {
	ranks := heavy.Or(24, 64) // so many that a rank does not say goodbye to all
	for i, sc := range lifelines(ranks) {
		t.Run(sc.Script[0].Algorithm, func(t *testing.T) {
			t.Parallel()
			at := moments(t, sc)
			root, others := ranks/3, []int{0, ranks/3 + 1, ranks/3 + 8, ranks - 1}
			for _, dead := range heavy.Or([]int{root, others[i%4]}, slices.Concat([]int{root}, others)) {
				for _, at := range some(at[dead], heavy.Or(4, math.MaxInt)) {
					for _, when := range []Time{at, at + 1} {
						sc.Faults = []Fault{{Kind: FaultCrash, Rank: dead, From: when}}
						outlived(t, sc, dead)
					}
				}
			}
		})
	}
}

// Two of up to 8 ranks die, each before or after one of its steps.
func TestSurvivorsOfTwoDeaths(t *testing.T) {
	for _, ranks := range []int{3, 5, 8} {
		for _, sc := range lifelines(ranks) {
			t.Run(fmt.Sprintf("%s/ranks=%d", sc.Script[0].Algorithm, ranks), func(t *testing.T) {
				t.Parallel()
				at := moments(t, sc)
				r := seeded(1, 'p')
				for a := range ranks {
					for b := range a {
						for range heavy.Or(1, 12) {
							sc.Faults = []Fault{
								{Kind: FaultCrash, Rank: a, From: pick(&r, at[a]...) + Time(r.below(2))},
								{Kind: FaultCrash, Rank: b, From: pick(&r, at[b]...) + Time(r.below(2))},
							}
							outlived(t, sc, a, b)
						}
					}
				}
			})
		}
	}
}

// A rank that publishes, or that passes messages on, dies. The survivors' errors then contain how
// many of its messages they have received: the fewest, and the most.
func TestMessagesOfTheDeadAreCounted(t *testing.T) {
	const ranks = 11
	sc := still(ranks, nil, Op{Kind: OpPublish, Root: 3, Count: 40, Bytes: 900}, Op{Kind: OpTake}, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"}, Op{Kind: OpAgree})
	sc.Net.Up = Link{Rate: 10e6, Delay: 5 * Microsecond}
	uneven := 0
	for at := Time(1); at < 60*Millisecond; at += 700 * Microsecond {
		sc.Faults = []Fault{{Kind: FaultCrash, Rank: 3, From: at}}
		came := core.Came{Rank: 3, Least: 1 << 63}
		r, err := run(sc, nil, tamper{over: func(w *world) {
			for rank, p := range w.procs {
				if n := p.core.Came(3); rank != 3 {
					came.Least, came.Most = min(came.Least, n), max(came.Most, n)
				}
			}
		}})
		require.NoError(t, err)
		require.NoError(t, r.Violation)
		if came.Least < came.Most {
			uneven++
		}
		for _, c := range r.Calls {
			var lost *core.LostError
			switch {
			case !errors.As(c.Err, &lost):
			case came.Most == 0:
				require.Empty(t, lost.Came)
			default:
				require.Equal(t, []core.Came{came}, lost.Came, "rank %d, at %d", c.Rank, at)
				require.Equal(t, came.Least < came.Most, strings.Contains(c.Err.Error(), fmt.Sprintf("messages of rank 3: from %d to %d", came.Least, came.Most)), c.Err)
			}
		}
	}
	require.Greater(t, uneven, 20, "the test is of messages that some lack")
}

// When a broadcast fails because a rank is dead, the error at each rank says whether the message is
// complete there.
func TestBroadcastThatFailsSaysWhetherItIsWhole(t *testing.T) {
	for _, c := range []struct {
		dead  int
		whole bool
	}{{3, true}, {0, false}} {
		faults := []Fault{{Kind: FaultLate, Rank: c.dead, Until: Second}, {Kind: FaultCrash, Rank: c.dead, From: Millisecond}}
		r := runs(t, still(4, faults, Op{Kind: OpBcast, Algorithm: acked, Bytes: 500, Chunks: 3}, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"}))
		failed := 0
		for _, call := range r.Calls {
			var op *core.OpError
			if errors.As(call.Err, &op) && call.Step == 0 {
				failed++
				require.Equal(t, c.whole, op.Whole, "rank %d: %v", call.Rank, call.Err)
			}
		}
		require.Positive(t, failed)
	}
}
