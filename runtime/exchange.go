package runtime

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/runtime/core"
)

// exchangeAlgorithm is how ranks tell each other what they agree by on a new communicator: each sends
// and receives log₂ of the ranks' messages.
const exchangeAlgorithm = "allgather/doubling"

// exchangePlan returns the plan of exchanges, which is made for the first one.
func (c *Comm) exchangePlan() (*plan, error) {
	if c.exchanges == nil {
		p, err := c.plans.compile(planKey{algorithm: Algorithm{Name: exchangeAlgorithm}, chunks: 1})
		if err != nil {
			return nil, fmt.Errorf("exchange: %w", err)
		}
		p.Plan = p.Marked("of Split") // no allgather of the program is taken for it
		c.exchanges = p
	}
	return c.exchanges, nil
}

// exchange gives block, of the same length at all ranks, to every rank, and returns
// those of all. It is an operation of the communicator, which fails as a whole if
// ctx ends.
func (c *Comm) exchange(ctx context.Context, block []byte) (blocks [][]byte, err error) {
	p, err := c.exchangePlan()
	if err != nil {
		return nil, err
	}
	if err := c.core.Err(); err != nil {
		return nil, err
	}
	n := len(block)
	all := make([]byte, c.size*n)
	if err := c.perform(&Request{comm: c, ctx: ctx, plan: p, mem: core.Buffers{In: block, Out: all, Block: n}}); err != nil {
		return nil, err
	}
	for ; len(all) > 0; all = all[n:] {
		blocks = append(blocks, all[:n:n])
	}
	return blocks, nil
}
