package transporttest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/schedule"
)

// testBarrier counts in memory that all ranks see: no rank may leave before the last has entered.
func testBarrier(t *testing.T, with network) {
	params := map[string][]schedule.Params{
		"barrier/dissemination": {{}, {Degree: 2}, {Degree: 3}},
		"barrier/exchange":      {{}, {Degree: 2}, {Degree: 3}},
		"barrier/hsb":           {{}, {FanIn: 2, FanOut: 3}, {FanIn: 3, FanOut: 1}},
	}
	for name, variants := range params {
		if !with.has(name) {
			continue
		}
		for _, p := range first(with.variants, variants...) {
			for _, ranks := range with.barrier {
				for _, hosts := range []int{0, (ranks + 2) / 3} {
					p.Hosts = hosts
					with.run(t, fmt.Sprintf("%s/ranks=%d,degree=%d,fans=%d+%d,hosts=%d", name, ranks, p.Degree, p.FanIn, p.FanOut, hosts), func(t *testing.T) {
						countBarriers(t, join(t, with, ranks, runtime.Config{Algorithms: runtime.Algorithms{"barrier": {Name: name, Params: p}}}), 40)
					})
				}
			}
		}
	}
}

func countBarriers(t *testing.T, comms []*runtime.Comm, rounds int64) {
	entered := make([]atomic.Int64, len(comms))
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		for i := int64(1); i <= rounds; i++ {
			entered[c.Rank()].Store(i)
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			for r := range entered {
				if n := entered[r].Load(); n < i {
					return fmt.Errorf("rank %d left barrier %d, rank %d has only entered %d", c.Rank(), i, r, n)
				}
			}
		}
		return nil
	})
}
