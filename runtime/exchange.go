package runtime

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/runtime/core"
)

// exchangeAlgorithm is the algorithm by which ranks exchange messages while they make a new
// communicator. Among P ranks, it takes ⌈log₂ P⌉ rounds.
const exchangeAlgorithm = "allgather/doubling"

// exchangePlan returns the plan of exchanges. The first exchange compiles it.
func (c *Comm) exchangePlan() (*plan, error) {
	if c.exchanges == nil {
		p, err := c.plans.compile(planKey{algorithm: Algorithm{Name: exchangeAlgorithm}, chunks: 1})
		if err != nil {
			return nil, fmt.Errorf("exchange: %w", err)
		}
		p.Plan = p.Marked("of Split") // never matches an allgather of the program
		c.exchanges = p
	}
	return c.exchanges, nil
}

// exchange gives block to every rank and returns the blocks of all ranks. Blocks have the same
// length at all ranks. exchange is an operation of the communicator, which fails as a whole if ctx
// ends.
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
