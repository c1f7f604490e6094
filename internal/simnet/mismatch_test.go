package simnet

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core"
)

// said returns the mismatch errors of the ranks, by rank; empty for ranks without one.
func (r *Result) said() []string {
	said := make([]string, len(r.Cores))
	for _, c := range r.Calls {
		var about *core.RankError
		if errors.Is(c.Err, core.ErrMismatch) && errors.As(c.Err, &about) {
			said[c.Rank] = about.Error()
		}
	}
	return said
}

// When a rank makes another call than the others, all errors say the same: the call of that rank,
// and the call of one of the others.
func TestMismatchIsToldInTheWordsOfBoth(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(2, 20).Draw(rt, "ranks")
		odd := rapid.IntRange(0, size-1).Draw(rt, "odd")
		op := rapid.SampledFrom(steps()).Draw(rt, "step")
		words := "barrier by barrier/dissemination degree=2"
		if row := op.row(); row.Blocks != nil {
			what, from := "1001 bytes", ""
			if row.Rooted {
				what, from = "1000 bytes", " from root 1"
			}
			if row.Blocks(size) > 1 {
				what = "blocks of " + what
			}
			words = fmt.Sprintf("%s of %s%s by %s", op.Kind, what, from, op.Algorithm)
		}
		if op.Algorithm == "barrier/dissemination" {
			op.Degree = 3
		}
		sc := still(size, []Fault{{Kind: FaultMismatch, Rank: odd}}, op, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"}, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"})
		sc.Seed, sc.Net.Ordered = rapid.Uint64().Draw(rt, "seed"), false
		said := runs(rt, sc).said()
		for rank, text := range said {
			require.Equal(rt, said[0], text, "rank %d", rank)
		}
		require.Contains(rt, said[0], fmt.Sprintf("rank %d called %s", odd, words))
		require.Equal(rt, 2, strings.Count(said[0], " called "), said[0])
		require.NotContains(rt, said[0], "something")
	})
}

// If the other side of a mismatch, or the rank that should tell all, cannot be asked, the rank that
// has found the mismatch waits for a second or two. Then it tells the words that it knows.
func TestMismatchWithTheAbsent(t *testing.T) {
	late := Fault{Kind: FaultLate, Rank: 0, Until: 10 * Second}
	sc := still(5, []Fault{{Kind: FaultMismatch, Rank: 3}, late}, Op{Kind: OpBcast, Algorithm: "bcast/chain", Root: 2, Bytes: 10}, Op{Kind: OpBarrier, Algorithm: "barrier/dissemination"})
	r := runs(t, sc)
	for rank, text := range r.said() {
		require.Contains(t, text, "rank 3 called bcast of 10 bytes from root 3 by bcast/chain", "rank %d", rank)
		require.Contains(t, text, " called bcast of 10 bytes from root 2 by bcast/chain", "rank %d", rank)
	}
	for _, c := range r.Calls {
		if c.Err != nil && c.Rank > 0 {
			require.Less(t, c.Return, 2*Second, "rank %d", c.Rank)
		}
	}

	// it has sent, and hears nothing after that
	pause := Fault{Kind: FaultPause, Rank: 3, From: 200 * Microsecond, Until: 10 * Second}
	sc = still(5, []Fault{{Kind: FaultMismatch, Rank: 3}, pause}, Op{Kind: OpBcast, Algorithm: "bcast/chain", Root: 2, Bytes: 10}, Op{Kind: OpBarrier, Algorithm: "barrier/dissemination"})
	sc.Net.Up.Delay, sc.Net.Down.Delay = 25*Microsecond, 25*Microsecond
	for rank, text := range runs(t, sc).said() {
		require.Contains(t, text, "rank 3 called something else, then or before, and has not said what", "rank %d", rank)
		require.Contains(t, text, "called bcast of 10 bytes from root 2 by bcast/chain", "rank %d", rank)
	}
}
