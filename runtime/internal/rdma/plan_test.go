package rdma

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Buffers lie in memory one behind the other, and none in another one.
func TestPlanHasNoOverlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 200).Draw(t, "size")
		rank := rapid.IntRange(0, size-1).Draw(t, "rank")
		p := planFor(rank, size, rapid.SampledFrom([]int{256, 512, 1024, 2048, 4096}).Draw(t, "mtu"))
		next := 0
		span := func(at, n int) {
			require.Equal(t, next, at)
			next = at + n
		}
		for i := range wire.WindowLines {
			span(p.line(i), int(unsafe.Sizeof(wire.Line{})))
		}
		for r := range size {
			span(p.word(r), wordLen)
		}
		for r := range size {
			if r == rank {
				continue
			}
			for i := range p.sends {
				span(p.send(r, i), p.message)
			}
			for i := range p.receives {
				span(p.receive(r, i), p.message)
			}
		}
		for i := range p.gramSends {
			span(p.gramSend(i), p.gram)
		}
		for i := range p.gramReceives {
			span(p.gramReceive(i), GRHLen+p.gram)
		}
		require.Equal(t, p.layout().Memory, next)
	})
}

// What a plan must have for messages to flow.
func TestPlansSuffice(t *testing.T) {
	for size := 1; size <= MaxSize; size++ {
		p := planFor(0, size, 4096)
		require.Zero(t, p.sends%4, "a completion is asked for every sends/4 messages")
		require.Greater(t, p.receives, 2*reserved)
		require.Greater(t, laneWindow, 2*p.message)
		require.LessOrEqual(t, p.layout().Memory, 80<<20)
	}
}
