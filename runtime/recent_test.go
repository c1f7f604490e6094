package runtime

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core"
)

// Calls with changing roots or lengths find their plans again and allocate nothing for it.
func TestPlansOfChangingCalls(t *testing.T) {
	c := still(t, &sent{size: 4}, Config{})
	find := func() (plans []*core.Plan) {
		for root := range 4 {
			for _, n := range []int{8, 1000, 100_000} {
				p, err := c.planOf(bcast, &core.Buffers{Block: n}, root, &bare)
				require.NoError(t, err)
				require.Equal(t, root, p.Root())
				plans = append(plans, p.Plan)
			}
		}
		return plans
	}
	first := find()
	require.Equal(t, first, find())
	n := testing.AllocsPerRun(100, func() {
		for root := range 4 {
			for _, n := range []int{8, 1000, 100_000} {
				if _, err := c.planOf(bcast, &core.Buffers{Block: n}, root, &bare); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	require.Zero(t, n)
}

// An evicted plan is forgotten everywhere.
func TestPlansThatMakeRoom(t *testing.T) {
	c := still(t, &sent{size: 4}, Config{})
	of := func(root int) *plan {
		p, err := c.planOf(bcast, &core.Buffers{Block: 8}, root, &bare)
		require.NoError(t, err)
		return p
	}
	p := of(0)
	c.plans.weight = 2 * maxPlans
	of(1)
	require.NotSame(t, p, of(0))
}
