package runtime

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/internal/core"
)

// exchangeAlgorithm is the algorithm by which ranks exchange messages while they make a new
// communicator. Among P ranks, it takes ⌈log₂ P⌉ rounds.
const exchangeAlgorithm = "allgather/doubling"

// exchangePlan returns the plan of exchanges for op, split or dup. The first exchange compiles it.
// Its operations match neither an allgather of the program nor an exchange for the other op.
func (c *Comm) exchangePlan(op string) (*plan, error) {
	if c.exchanges[op] == nil {
		p, err := c.plans.compile(planKey{algorithm: Algorithm{Name: exchangeAlgorithm}, chunks: 1})
		if err != nil {
			return nil, fmt.Errorf("exchange: %w", err)
		}
		p.Plan = p.Marked("of a " + op)
		if c.exchanges == nil {
			c.exchanges = make(map[string]*plan)
		}
		c.exchanges[op] = p
	}
	return c.exchanges[op], nil
}

// exchange gives block to every rank, for op, and returns the blocks of all ranks. Blocks have the same
// length at all ranks. exchange is an operation of the communicator, which fails as a whole if ctx
// ends.
func (c *Comm) exchange(ctx context.Context, op string, block []byte) (blocks [][]byte, err error) {
	p, err := c.exchangePlan(op)
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
