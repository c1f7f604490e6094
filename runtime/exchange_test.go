package runtime

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
)

// step is a put of a block.
type step struct{ from, to, block int }

// runExchange carries the puts of an exchange out in the order that next chooses, and
// returns after how many hops each rank has each block.
func runExchange(t require.TestingT, ranks int, next func(waiting []step) int) [][]int {
	h := exchangeHeader(ranks)
	machines := make([]machine.Machine, ranks)
	hops := make([][]int, ranks)
	var waiting []step
	act := func(rank int, do []ir.Action) {
		for _, a := range do {
			waiting = append(waiting, step{rank, int(a.To), a.Slot.Index()})
		}
	}
	for rank := range ranks {
		p := exchangeProgram(rank, ranks)
		plan, err := machine.Compile(&h, &p)
		require.NoError(t, err)
		machines[rank].Reset(plan)
		hops[rank] = make([]int, ranks)
	}
	for rank := range ranks {
		do, _ := machines[rank].Set(ir.Enter)
		act(rank, do)
	}
	for len(waiting) > 0 {
		i := next(waiting)
		s := waiting[i]
		waiting = append(waiting[:i], waiting[i+1:]...)
		require.False(t, s.to == s.block || machines[s.to].Has(ir.Chunk(s.block)), "%+v: it has that", s)
		hops[s.to][s.block] = hops[s.from][s.block] + 1
		do, _ := machines[s.to].Set(ir.Chunk(s.block))
		act(s.to, do)
	}
	for rank := range ranks {
		require.True(t, machines[rank].Done(), "rank %d", rank)
	}
	return hops
}

// Whatever the order, every rank gets every block once, after log₂ of the ranks' hops
// at most.
func TestExchangeReachesAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ranks := rapid.IntRange(1, 40).Draw(rt, "ranks")
		hops := runExchange(rt, ranks, func(waiting []step) int { return rapid.IntRange(0, len(waiting)-1).Draw(rt, "next") })
		for rank := range hops {
			for block, n := range hops[rank] {
				require.Equal(rt, block == rank, n == 0)
				require.LessOrEqual(rt, n, bits.Len(uint(ranks-1)))
			}
		}
	})
}

// A rank sends to as few others as doubling distances need.
func TestExchangePartners(t *testing.T) {
	for ranks := 1; ranks <= 70; ranks++ {
		for rank := range ranks {
			p := exchangeProgram(rank, ranks)
			to, frames := map[int32]bool{}, 0
			for _, r := range p.Rules {
				for _, a := range r.Do {
					to[a.To] = true
					frames++
				}
			}
			require.Len(t, to, bits.Len(uint(ranks-1)))
			require.Equal(t, ranks-1, frames, fmt.Sprint("rank ", rank, " of ", ranks))
		}
	}
}
