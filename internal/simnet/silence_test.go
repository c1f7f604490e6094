package simnet

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
)

// hush returns a scenario whose network never gives a rank up by itself. The ranks give a rank up
// after a second of silence.
func hush(ranks int, faults []Fault, ops ...Op) *Scenario {
	sc := still(ranks, faults, ops...)
	sc.Net.GiveUp = 3600 * Second
	sc.Net.Up.Delay, sc.Net.Down.Delay = 25*Microsecond, 25*Microsecond
	sc.Comm.Silence = Second
	return sc
}

// noticed is the latest time at which all ranks know of a silence of a second that begins at 0:
// operations stall, the question goes around, and the ranks ask an eighth of a second apart.
const noticed = Second + 2*Second/8 + 300*Millisecond

// steps returns a collective operation of each kind of schedule.
func steps() (list []Op) {
	for _, row := range ir.Collectives() {
		if row.Published {
			continue
		}
		for _, name := range algorithms(row.Name) {
			o := Op{Kind: OpKind(row.Name), Algorithm: name}
			if row.Blocks != nil {
				o.Bytes = 1000
			}
			list = append(list, o)
		}
	}
	return list
}

// All waiting ranks find a vanished host in the documented time, whatever the schedule and
// whichever host it is.
func TestVanishedHostIsNoticed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(2, 20).Draw(rt, "ranks")
		dead := rapid.IntRange(0, size-1).Draw(rt, "dead")
		op := rapid.SampledFrom(steps()).Draw(rt, "step")
		sc := hush(size, []Fault{{Kind: FaultSilent, Rank: dead}}, op, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"})
		r := runs(rt, sc)
		for rank, knows := range r.knowing() {
			require.Equal(rt, rank != dead, knows, "rank %d", rank)
		}
		for _, c := range r.Calls {
			var about *core.RankError
			if errors.As(c.Err, &about) {
				require.Equal(rt, dead, about.Rank, "rank %d", c.Rank)
				require.Less(rt, c.Return, noticed, "rank %d", c.Rank)
			}
		}
	})
}

// A rank whose puts are delayed for long gives signs of life by datagram.
func TestHeldUpPutsAreNotSilence(t *testing.T) {
	lost := Fault{Kind: FaultLoss, Host: -1, Until: 5 * Second, PerMille: 1000, Way: ByPut}
	sc := hush(3, []Fault{lost}, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"})
	r := runs(t, sc)
	require.Greater(t, r.End, 5*Second)
	for _, c := range r.Calls {
		require.NoError(t, c.Err)
	}
}

// Ranks that wait for messages find a vanished host too.
func TestListenerNoticesVanishedHost(t *testing.T) {
	for _, dead := range []int{0, 1, 5, 10} {
		r := runs(t, hush(11, []Fault{{Kind: FaultSilent, Rank: dead}}, Op{Kind: OpPublish, Root: dead, Count: 1}, Op{Kind: OpTake}))
		for rank, knows := range r.knowing() {
			require.Equal(t, rank != dead, knows, "rank %d", rank)
		}
		require.Less(t, r.End, noticed)
	}
}

// Ranks wait for a process that is stopped for less than the silence. A process that is stopped for
// longer is lost: errors name it, and it is told when it continues.
func TestStoppedProcess(t *testing.T) {
	for _, op := range steps() {
		t.Run(op.Algorithm, func(t *testing.T) {
			ops := []Op{op, {Kind: OpBarrier, Algorithm: "barrier/hsb"}}
			for _, rank := range []int{0, 1, 6} {
				short := hush(7, []Fault{{Kind: FaultPause, Rank: rank, From: 30 * Microsecond, Until: 800 * Millisecond}}, ops...)
				for _, c := range runs(t, short).Calls {
					require.NoError(t, c.Err)
				}
				long := hush(7, []Fault{{Kind: FaultPause, Rank: rank, From: 30 * Microsecond, Until: 20 * Second}}, ops...)
				failed := 0
				for _, c := range runs(t, long).Calls {
					if c.Err == nil {
						continue
					}
					failed++
					var about *core.RankError
					require.ErrorIs(t, c.Err, core.ErrPeerLost)
					require.ErrorAs(t, c.Err, &about)
					require.Equal(t, rank, about.Rank, "rank %d", c.Rank)
					if c.Rank != rank {
						require.Less(t, c.Return, noticed, "rank %d", c.Rank)
					}
				}
				require.Equal(t, 7, failed, "rank %d is told, too", rank)
			}
		})
	}
}

// If all processes are stopped at once, no rank is lost when they continue.
func TestAllStopped(t *testing.T) {
	var faults []Fault
	for rank := range 7 {
		faults = append(faults, Fault{Kind: FaultPause, Rank: rank, From: 500 * Millisecond, Until: 60*Second + Time(rank)*Millisecond})
	}
	faults = append(faults, Fault{Kind: FaultLate, Rank: 3, Until: 300 * Millisecond}, Fault{Kind: FaultPause, Rank: 3, From: 300 * Millisecond, Until: 60 * Second})
	for _, c := range runs(t, hush(7, faults, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"}, Op{Kind: OpBarrier, Algorithm: "barrier/exchange"})).Calls {
		require.NoError(t, c.Err)
	}
}

// When the network is cut in two, each side finds the other silent.
func TestPartitionIsNoticed(t *testing.T) {
	for _, side := range []uint64{0b1, 0b110, 0b1010101, 0b1111111110} {
		sc := hush(10, []Fault{{Kind: FaultPartition, Side: side, From: 10 * Millisecond, Until: 3600 * Second}})
		for range 1000 {
			sc.Script = append(sc.Script, Op{Kind: OpBarrier, Algorithm: "barrier/dissemination"})
		}
		r := runs(t, sc)
		know := r.knowing()
		require.Equal(t, slices.Repeat([]bool{true}, 10), know)
		for _, c := range r.Calls {
			var about *core.RankError
			if c.Err == nil {
				continue
			}
			require.ErrorAs(t, c.Err, &about)
			require.NotEqual(t, side>>c.Rank&1, side>>about.Rank&1, "rank %d of side %b says: %v", c.Rank, side, c.Err)
			require.Less(t, c.Return, 10*Millisecond+noticedAll(10))
		}
	}
}

// A rank that a slow link keeps busy, or that computes, is not silent.
func TestSlowIsNotSilent(t *testing.T) {
	for _, name := range []string{"bcast/chain", "bcast/binomial", "bcast/mcast-acktree", "bcast/mcast-chain", "bcast/symmetric"} {
		t.Run(name, func(t *testing.T) {
			sc := hush(4, nil, Op{Kind: OpCompute, Time: 30 * Second}, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"}, Op{Kind: OpBcast, Algorithm: name, Bytes: 256 << 10})
			l := Link{Rate: 100e3, Queue: 128 << 10, Delay: 25 * Microsecond}
			sc.Comm.Silence = 25 * Second // a link's queue takes 10 s, for a question and for its answer
			sc.Net = Net{Up: l, Down: l, Multicast: true, Ordered: true, GiveUp: 3600 * Second}
			r := runs(t, sc)
			require.Greater(t, r.took(2, 0), 20*Second, "the test is of a slow link")
			for _, c := range r.Calls {
				require.NoError(t, c.Err, fmt.Sprint(c))
			}
		})
	}
}

// lossesOf returns, for each rank that is not silent, the ranks that its last call names as lost.
// It requires that every one of these errors is a LostError.
func (r *Result) lossesOf(t require.TestingT, silent []int) (named [][]int) {
	named = make([][]int, len(r.Cores))
	for _, c := range r.Calls {
		if c.Err == nil || slices.Contains(silent, c.Rank) {
			continue
		}
		var lost *core.LostError
		require.ErrorAs(t, c.Err, &lost, "rank %d", c.Rank)
		require.ErrorIs(t, c.Err, core.ErrPeerSilent, "rank %d", c.Rank)
		named[c.Rank] = lost.Ranks
	}
	return named
}

// noticedAll is the latest time at which all ranks know of the silence of so many ranks that begins
// at 0. The silent ranks may be neighbours. A rank is asked an interval after the ranks before it
// have not answered, each time for twice as many.
func noticedAll(silent int) Time {
	return noticed + Time(3+bits.Len(uint(silent)))*Second/8
}

// requireAllNamed requires that all ranks except the silent ones name exactly the silent ranks, in
// time.
func requireAllNamed(t require.TestingT, sc *Scenario, r *Result, silent []int) {
	named := r.lossesOf(t, silent)
	for rank := range sc.Ranks {
		if !slices.Contains(silent, rank) {
			require.Equal(t, silent, named[rank], "rank %d of %d", rank, sc.Ranks)
		}
	}
	for _, c := range r.Calls {
		if !slices.Contains(silent, c.Rank) {
			require.Less(t, c.Return, noticedAll(len(silent)), "rank %d", c.Rank)
		}
	}
}

// If ranks fall silent together, all other ranks name all of them, whether or not they are
// neighbours and whether or not the rank that counts votes is among them.
func TestSilentTogether(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(3, 24).Draw(rt, "ranks")
		silent := rapid.SliceOfNDistinct(rapid.IntRange(0, size-1), 2, size-1, rapid.ID).Draw(rt, "silent")
		slices.Sort(silent)
		vanish := rapid.Bool().Draw(rt, "vanish")
		op := rapid.SampledFrom(steps()).Draw(rt, "step")
		sc := hush(size, nil, op, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"})
		for _, rank := range silent {
			f := Fault{Kind: FaultPause, Rank: rank, Until: 60 * Second}
			if vanish {
				f = Fault{Kind: FaultSilent, Rank: rank}
			}
			sc.Faults = append(sc.Faults, f)
		}
		requireAllNamed(rt, sc, runs(rt, sc), silent)
	})
}

// Processes that are stopped together and continue later each hear that they were lost, whether the
// others are still there or have closed.
func TestStoppedTogetherComeBack(t *testing.T) {
	for _, silent := range [][]int{{1, 4}, {2, 3}, {0, 3}, {0, 1, 5}, {1, 2, 3}} {
		for _, closes := range []bool{false, true} {
			sc := hush(6, nil)
			for range 2000 {
				sc.Script = append(sc.Script, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"})
			}
			sc.Close = closes
			for _, rank := range silent {
				sc.Faults = append(sc.Faults, Fault{Kind: FaultPause, Rank: rank, From: 10 * Millisecond, Until: 20*Second + Time(rank)*Millisecond})
			}
			r := runs(t, sc)
			told := 0
			for _, c := range r.Calls {
				var about *core.RankError
				if c.Err == nil {
					continue
				}
				require.ErrorIs(t, c.Err, core.ErrPeerLost)
				require.ErrorAs(t, c.Err, &about)
				if slices.Contains(silent, c.Rank) {
					told++
					require.Equal(t, c.Rank, about.Rank, "%v of %v, closes %v: %v", c.Rank, silent, closes, c.Err)
				}
			}
			require.Equal(t, len(silent), told)
			named := r.lossesOf(t, silent)
			for rank := range 6 {
				if !slices.Contains(silent, rank) {
					require.Equal(t, silent, named[rank], "rank %d", rank)
				}
			}
		}
	}
}

// Rank 3 stops, and then rank 0, which counts the votes. The others find rank 3 silent, and their
// votes arrive at rank 0. They find rank 0 silent, too, and agree without it. As with a virtual
// machine that was suspended, this news is still on its way when rank 0 continues. So rank 0 has
// the votes of all, and no rank without a clock in common can tell that they are old. Its call names
// rank 3 alone. Its next call says that it was lost.
func TestStoppedRankConcludesFromEarlierFrames(t *testing.T) {
	const back = 20 * Second
	sc := hush(4, []Fault{
		{Kind: FaultPause, Rank: 3, Until: back},
		{Kind: FaultPause, Rank: 0, From: 1100 * Millisecond, Until: back},
		{Kind: FaultLoss, Host: 0, From: 1900 * Millisecond, Until: back + 100*Millisecond, PerMille: 1000},
	}, Op{Kind: OpBarrier, Algorithm: "barrier/dissemination"}, Op{Kind: OpAgree})
	r := runs(t, sc)
	requireFails := func(c Call, lost, about int) {
		require.ErrorIs(t, c.Err, core.ErrPeerSilent, "rank %d, step %d", c.Rank, c.Step)
		var all *core.LostError
		if require.Equal(t, lost > 0, errors.As(c.Err, &all), "rank %d, step %d", c.Rank, c.Step); lost > 0 {
			require.Len(t, all.Ranks, lost)
		}
		var rank *core.RankError
		require.ErrorAs(t, c.Err, &rank)
		require.Equal(t, about, rank.Rank, "rank %d, step %d", c.Rank, c.Step)
	}
	for _, c := range r.Calls {
		switch {
		case c.Rank == 3:
			requireFails(c, 0, 3)
		case c.Rank == 0 && c.Step == 0:
			requireFails(c, 1, 3)
		case c.Rank == 0:
			requireFails(c, 0, 0)
		case c.Step == 0:
			requireFails(c, 2, 0)
		default:
			require.NoError(t, c.Err, "ranks 1 and 2 agree")
		}
	}
}

// When the network is cut, all ranks of each part name all ranks of the other.
func TestPartsNameEachOther(t *testing.T) {
	for _, c := range []struct {
		ranks int
		side  uint64
	}{{5, 0b00111}, {5, 0b10100}, {8, 0b00001111}, {8, 0b01010101}, {8, 0b10000001}, {24, 0xfff}, {40, 0xfffff}, {40, 0xf0f0f0f0f0}} {
		for _, until := range []Time{25 * Second, 3600 * Second} {
			sc := hush(c.ranks, []Fault{{Kind: FaultPartition, Side: c.side, From: 10 * Millisecond, Until: until}})
			for range 1000 {
				sc.Script = append(sc.Script, Op{Kind: OpBarrier, Algorithm: "barrier/dissemination"})
			}
			r := runs(t, sc)
			var parts [2][]int
			for rank := range c.ranks {
				parts[c.side>>rank&1] = append(parts[c.side>>rank&1], rank)
			}
			named := r.lossesOf(t, nil)
			for rank := range c.ranks {
				require.Equal(t, parts[1-c.side>>rank&1], named[rank], "rank %d of %d, side %b", rank, c.ranks, c.side)
			}
		}
	}
}
