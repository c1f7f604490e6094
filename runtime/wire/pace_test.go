package wire_test

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime/wire"
)

// The costs of a typical machine lead to what was measured on it.
func TestTypicalPace(t *testing.T) {
	p := wire.TypicalPace()
	require.True(t, p.Valid())
	require.Equal(t, &p, (*wire.Pace)(nil).Or())
	require.False(t, p.Lends(16<<10, 1, 2), "two ranks with a core each")
	require.True(t, p.Lends(20<<10, 1, 2))
	require.True(t, p.Lends(128<<10, 3, 4))
	require.False(t, p.Casts(4))
	require.False(t, p.Casts(32))

	fast := wire.Pace{Ring: 1000, Pull: 1, Call: 1, Line: 1, Fold: 1, Yield: 1, Cores: 64}
	require.False(t, fast.Lends(wire.CopiedTo, 63, 64))
	require.True(t, fast.Lends(wire.CopiedTo+1, 63, 64))

	epyc := wire.Pace{Ring: 40, Pull: 68, Call: 1020, Line: 25, Fold: 15, Yield: 495, Cores: 2}
	require.False(t, epyc.Lends(64<<10, 1, 2))
	require.False(t, epyc.Lends(512<<10, 1, 2))
	require.True(t, epyc.Casts(2))
	require.True(t, epyc.Casts(4))
}

// drawPace draws costs from a tenth to ten times those of a typical machine, and cores.
func drawPace(t *rapid.T) *wire.Pace {
	p := wire.TypicalPace()
	for _, v := range []*uint32{&p.Ring, &p.Pull, &p.Call, &p.Line, &p.Fold, &p.Yield} {
		*v = max(1, uint32(float64(*v)*rapid.Float64Range(0.1, 10).Draw(t, "factor")))
	}
	p.Cores = rapid.Uint32Range(1, 128).Draw(t, "cores")
	return &p
}

// A dearer copy by the system, or a cheaper one by a ring, never makes a rank begin to lend, nor a
// longer chunk that its ring holds make it stop.
func TestDecisionsAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPace(t)
		ranks := rapid.IntRange(2, 200).Draw(t, "ranks")
		n, k := rapid.IntRange(1, 1<<31-1).Draw(t, "bytes"), rapid.IntRange(1, ranks-1).Draw(t, "receivers")
		if p.Lends(n, k, ranks) {
			require.True(t, n > wire.RingBytes(ranks)/2 || p.Lends(2*n, k, ranks))
		} else {
			q := *p
			q.Pull, q.Call = 2*p.Pull, 2*p.Call
			require.False(t, q.Lends(n, k, ranks))
			q = *p
			q.Ring = p.Ring/2 + 1
			require.False(t, p.Ring > 1 && q.Lends(n, k, ranks))
		}
		if p.Casts(ranks) {
			q := *p
			q.Pull *= 2
			require.True(t, q.Casts(ranks))
		}
		require.LessOrEqual(t, p.Turns(ranks), p.Turns(ranks+1))
		require.LessOrEqual(t, p.Waves(ranks), p.Waves(ranks+1))
	})
}

func TestWaves(t *testing.T) {
	for _, c := range []struct{ cores, ranks, want int }{
		{1, 1, 0}, {1, 2, 1}, {1, 8, 7}, {2, 8, 7}, {3, 8, 4}, {4, 2, 1}, {4, 4, 1}, {4, 5, 2}, {8, 8, 1}, {64, 8, 1},
	} {
		p := wire.Pace{Cores: uint32(c.cores)}
		require.Equal(t, c.want, p.Waves(c.ranks), "%+v", c)
	}
}

func TestRoomBytes(t *testing.T) {
	for ranks := 1; ranks < 2000; ranks++ {
		n := wire.RoomBytes(ranks)
		require.Equal(t, min(max(1<<(bits.Len(uint(max(128<<10/ranks, 1)))-1), 512), 8<<10), n, "%d ranks", ranks)
	}
}

func TestRingBytes(t *testing.T) {
	for ranks := 1; ranks < 2000; ranks++ {
		n := wire.RingBytes(ranks)
		require.Equal(t, min(max(1<<(bits.Len(uint(max(32<<20/(ranks*ranks), 1)))-1), 4<<10), 64<<10), n, "%d ranks", ranks)
	}
}
