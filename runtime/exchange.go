package runtime

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/machine"
)

// An exchange gives every rank a block of each: it is what ranks agree by on a new
// communicator. It is one operation, all ranks' broadcasts at once: block k goes down
// a binomial tree by distance doubling whose root is rank k. A rank sends and
// receives one frame for each other rank, at most, to and from log₂ of them, and the
// last block is there after log₂ of the ranks' steps.

// exchangeHeader is the head of that schedule.
func exchangeHeader(ranks int) ir.Header {
	return ir.Header{Collective: "allgather", Algorithm: "doubling", Ranks: ranks, Chunks: ranks}
}

// exchangeProgram is what rank does in it.
func exchangeProgram(rank, ranks int) ir.Program {
	p := ir.Program{Rank: rank, Done: []ir.Slot{ir.Enter}}
	for distance := range ranks {
		origin := (rank - distance + ranks) % ranks
		when := ir.Enter
		if distance > 0 {
			when = ir.Chunk(origin)
			p.Done = append(p.Done, when)
		}
		var do []ir.Action
		for step := 1; distance+step < ranks; step *= 2 {
			if step > distance {
				do = append(do, ir.PutTo(ir.Chunk(origin), (rank+step)%ranks))
			}
		}
		if len(do) > 0 {
			p.Rules = append(p.Rules, ir.Rule{When: []ir.Slot{when}, Do: do})
		}
	}
	return p
}

// exchangePlan returns the plan of exchanges, which is made for the first one.
func (c *Comm) exchangePlan() (*plan, error) {
	if c.exchanges != nil {
		return c.exchanges, nil
	}
	h, p := exchangeHeader(c.size), exchangeProgram(c.rank, c.size)
	program, err := machine.Compile(&h, &p)
	if err != nil {
		return nil, err
	}
	programs := func(rank int) ir.Program { return exchangeProgram(rank, c.size) }
	c.exchanges = &plan{Plan: core.NewPlan(&h, program, ir.Program{}, 0).Marked("of Split"), programs: programs}
	return c.exchanges, nil
}

// exchange gives block, of the same length at all ranks, to every rank, and returns
// those of all. It is an operation of the communicator, which fails as a whole if
// ctx ends.
func (c *Comm) exchange(ctx context.Context, block []byte) (blocks [][]byte, err error) {
	p, err := c.exchangePlan()
	if err != nil {
		return nil, fmt.Errorf("exchange: %w", err)
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
