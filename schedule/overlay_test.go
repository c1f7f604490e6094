package schedule

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

// flood is the path of one message: from which rank each rank got it, how many copies, and after
// how many hops.
type flood struct {
	from, copies, hops []int
	messages           int
}

// send floods a message of origin through an overlay of ranks nodes, by the forwarding rule alone.
// It fails the test if the message does not die out.
func send(t *testing.T, o Overlay, ranks, origin int) flood {
	t.Helper()
	f := flood{make([]int, ranks), make([]int, ranks), make([]int, ranks), 0}
	f.from[origin] = origin
	for queue := []int{origin}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, to := range o.Forward(nil, at, origin, f.from[at]) {
			f.messages++
			f.copies[to]++
			f.from[to], f.hops[to] = at, f.hops[at]+1
			queue = append(queue, to)
		}
		if f.messages >= ranks {
			t.Fatalf("P=%d origin=%d: more than P-1 messages", ranks, origin)
		}
	}
	return f
}

// rootless calls check for every rootless algorithm and number of ranks.
func rootless(t *testing.T, most int, check func(t *testing.T, name string, o Overlay, ranks int)) {
	for _, name := range []string{"anycast/skip-ring", "anycast/circulant"} {
		t.Run(name, func(t *testing.T) {
			for ranks := 1; ranks <= most; ranks++ {
				s, err := New(name, Params{Ranks: ranks})
				require.NoError(t, err)
				check(t, name, s.Overlay(), ranks)
			}
		})
	}
}

// TestOverlayReachesEveryRankOnce checks the paper's claim of n messages for every origin, and the
// stated number of hops.
func TestOverlayReachesEveryRankOnce(t *testing.T) {
	rootless(t, heavy.Or(130, 300), func(t *testing.T, name string, o Overlay, ranks int) {
		worst := 0
		for origin := range ranks {
			f := send(t, o, ranks, origin)
			for rank, copies := range f.copies {
				if want := count(rank != origin); copies != want {
					t.Fatalf("P=%d origin=%d: %d copies at rank %d, want %d", ranks, origin, copies, rank, want)
				}
			}
			worst = max(worst, slices.Max(f.hops))
		}
		requireHops(t, name, ranks, worst)
	})
}

// requireHops checks the worst case over all origins. It is ⌈log2 P⌉ hops for the circulant. For
// the skip ring it is at most 2⌈log2 P⌉-2 from three ranks on, and exactly that if P is a power of
// two.
func requireHops(t *testing.T, name string, ranks, worst int) {
	t.Helper()
	log := bits.Len(uint(ranks - 1))
	powerOfTwo := ranks == 1<<log
	switch {
	case ranks <= 2:
		require.Equal(t, ranks-1, worst, "P=%d", ranks)
	case name == "anycast/circulant" && powerOfTwo:
		require.Equal(t, log, worst, "P=%d", ranks)
	case name == "anycast/circulant":
		require.LessOrEqual(t, worst, log, "P=%d", ranks)
	case powerOfTwo:
		require.Equal(t, 2*log-2, worst, "P=%d", ranks)
	default:
		require.LessOrEqual(t, worst, 2*log-2, "P=%d", ranks)
	}
}

// TestForwardUsesChannels checks that messages travel only on channels, and that no channel leads
// to the rank itself or occurs twice.
func TestForwardUsesChannels(t *testing.T) {
	rootless(t, 70, func(t *testing.T, name string, o Overlay, ranks int) {
		total := 0
		for rank := range ranks {
			channels := o.Channels(nil, rank)
			total += len(channels)
			require.NotContains(t, channels, rank)
			slices.Sort(channels)
			require.Len(t, slices.Compact(channels), len(channels))
		}
		if name == "anycast/skip-ring" {
			require.LessOrEqual(t, total, 2*ranks, "two channels a rank on average")
		}
		for origin := range ranks {
			f := send(t, o, ranks, origin)
			for rank, from := range f.from {
				if rank != origin && !slices.Contains(o.Channels(nil, from), rank) {
					t.Fatalf("P=%d origin=%d: no channel from %d to %d", ranks, origin, from, rank)
				}
			}
		}
	})
}

// TestForwardAppends checks that Forward keeps the contents of dst.
func TestForwardAppends(t *testing.T) {
	rootless(t, 20, func(t *testing.T, _ string, o Overlay, ranks int) {
		for rank := range ranks {
			want := append([]int{-1, -2}, o.Forward(nil, rank, rank, rank)...)
			require.Equal(t, want, o.Forward([]int{-1, -2}, rank, rank, rank))
			want = append([]int{-1, -2}, o.Channels(nil, rank)...)
			require.Equal(t, want, o.Channels([]int{-1, -2}, rank))
		}
	})
}

// TestProjection compares the program of every rank for every origin, computed from its number
// alone, with the flood.
func TestProjection(t *testing.T) {
	rootless(t, 90, func(t *testing.T, name string, o Overlay, ranks int) {
		for origin := range ranks {
			s, err := New(name, Params{Ranks: ranks, Root: origin})
			require.NoError(t, err)
			f := send(t, o, ranks, origin)
			for rank := range ranks {
				want, got := o.Forward(nil, rank, origin, f.from[rank]), targets(s.Program(rank))
				if !slices.Equal(want, got) {
					t.Fatalf("P=%d origin=%d rank=%d: puts to %v, want %v", ranks, origin, rank, got, want)
				}
			}
		}
	})
}

// targets lists the ranks to which a program puts.
func targets(p ir.Program) []int {
	var to []int
	for _, r := range p.Rules {
		for _, act := range r.Do {
			to = append(to, int(act.To))
		}
	}
	return to
}

// TestSkipRingFigure3 is the example of paper 001: 8 nodes, rank 2 initiates.
func TestSkipRingFigure3(t *testing.T) {
	o := skipRing{8}
	require.Equal(t, []int{1, 2, 4}, o.Channels(nil, 0))
	require.Equal(t, []int{5, 6, 0}, o.Channels(nil, 4))
	require.Equal(t, []int{0}, o.Channels(nil, 7))

	f := send(t, o, 8, 2)
	require.Equal(t, []int{4, 0, 2, 2, 2, 4, 4, 6}, f.from)
}

// TestSkipRingTwo checks the smallest ring, in which both nodes are the last of their only level.
func TestSkipRingTwo(t *testing.T) {
	o := skipRing{2}
	require.Equal(t, []int{1}, o.Channels(nil, 0))
	require.Equal(t, []int{0}, o.Channels(nil, 1))
	require.Empty(t, skipRing{1}.Channels(nil, 0))
}

// TestCirculantIgnoresSender checks that a circulant rank forwards by the origin alone.
func TestCirculantIgnoresSender(t *testing.T) {
	o := circulantOverlay{13}
	for from := range 13 {
		require.Equal(t, o.Forward(nil, 4, 0, 0), o.Forward(nil, 4, 0, from))
	}
}
