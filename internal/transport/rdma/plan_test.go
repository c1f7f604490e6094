package rdma

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Buffers are consecutive in memory, and do not overlap.
func TestPlanHasNoOverlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := planFor(rapid.IntRange(1, MaxSize).Draw(t, "size"), rapid.SampledFrom([]int{256, 512, 1024, 2048, 4096}).Draw(t, "mtu"))
		next := 0
		span := func(at, n int) {
			require.Equal(t, next, at)
			next = at + n
		}
		for i := range wire.WindowLines {
			span(p.line(i), int(unsafe.Sizeof(wire.Line{})))
		}
		span(p.word(), wordLen)
		for i := range p.gramSends {
			span(p.gramSend(i), p.gram)
		}
		for i := range p.gramReceives {
			span(p.gramReceive(i), GRHLen+p.gram)
		}
		require.Equal(t, p.own(), next)
		next = 0
		for i := range p.sends {
			span(p.send(i), p.message)
		}
		for i := range p.receives {
			span(p.receive(i), p.message)
		}
		require.Equal(t, p.pair(), next)
	})
}

// A plan has everything that messages need to flow.
func TestPlansSuffice(t *testing.T) {
	for _, size := range []int{1, 2, 3, 32, 33, 128, 129, 1025, MaxSize} {
		p := planFor(size, 4096)
		require.Zero(t, p.sends%4, "a completion is asked for every sends/4 messages")
		require.Zero(t, (1<<32)%p.receives, "places are counted modulo 2^32")
		require.Greater(t, p.receives, 2*reserved)
		require.Greater(t, laneWindow, 2*p.message)
		require.LessOrEqual(t, p.own()+31*p.pair(), 20<<20)
	}
}
