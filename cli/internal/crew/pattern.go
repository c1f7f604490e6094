package crew

import (
	"bytes"
	"context"
	"fmt"
)

// pattern is the trial of a collective that moves or folds blocks. It makes up their bytes, which
// depend on the seed, the iteration and the number of the block, so that no two blocks are alike.
type pattern struct {
	Generator
	seed uint64
	*buffers
}

func newPattern(b *buffers) *pattern { return &pattern{NewGenerator(), b.job.Seed, b} }

func (p *pattern) block(size, iteration, number int) []byte {
	return p.Make(size, p.seed, uint64(iteration), uint64(number))
}

// right returns the right bytes of a block that the rank wants.
func (p *pattern) right(size, iteration, number int) []byte {
	if p.fold != nil {
		return p.folded(iteration, number, size)
	}
	return p.block(size, iteration, number)
}

// own returns the bytes of a block that the rank holds or contributes.
func (p *pattern) own(size, iteration, number int) []byte {
	if p.fold != nil {
		return p.contribution(iteration, p.job.Rank, number, size)
	}
	return p.block(size, iteration, number)
}

// prepare makes up the blocks that the rank holds. It fills the space of each wanted block with
// bytes that all differ from the right ones, so that a missing byte is noticed.
func (p *pattern) prepare(iteration int) {
	for i := range p.wanted.Count {
		to := p.received(i)
		for k, v := range p.right(len(to), iteration, p.wanted.At(i)) {
			to[k] = ^v
		}
	}
	for i := range p.held.Count {
		copy(p.sent(i), p.own(p.in[i], iteration, p.held.At(i)))
	}
}

// check compares every byte of the blocks that the rank wants. It also checks that the blocks that
// the rank sent are unchanged.
func (p *pattern) check(wrong *Findings, iteration int) {
	compare := func(what string, got, want []byte, number int) {
		if bytes.Equal(got, want) {
			return
		}
		k := 0
		for got[k] == want[k] {
			k++
		}
		wrong.Add(fmt.Sprintf("iteration %d: %s block %d has 0x%02x as byte %d, not 0x%02x", iteration+1, what, number, got[k], k, want[k]))
	}
	for i := range p.wanted.Count {
		compare("received", p.received(i), p.right(p.out[i], iteration, p.wanted.At(i)), p.wanted.At(i))
	}
	for i := range p.held.Count {
		compare("its own", p.sent(i), p.own(p.in[i], iteration, p.held.At(i)), p.held.At(i))
	}
}

func (p *pattern) end(context.Context, *Findings) error { return nil }

// contribution returns the block with the given number of a rank's source buffer in an iteration.
// Blocks that a rank holds, and does not contribute, do not depend on the rank.
func (p *pattern) contribution(iteration, rank, number, size int) []byte {
	if number >= p.job.Row().Inputs(p.job.Params.Ranks) {
		rank = -1
	}
	made := p.Make(size, p.seed, uint64(iteration), uint64(number), uint64(1+rank))
	values := make([]byte, size)
	p.job.Fold.values(values, made)
	return values
}

// folded returns a block of the result of an iteration.
func (p *pattern) folded(iteration, block, size int) []byte {
	row, ranks := p.job.Row(), p.job.Params.Ranks
	if block < row.Question {
		return p.contribution(iteration, 0, row.Inputs(ranks)+block, size)
	}
	var result []byte
	for rank := range row.Folded(ranks, block) {
		x := p.contribution(iteration, rank, block%row.Inputs(ranks), size)
		if result == nil {
			result = x
		} else {
			p.fold.Kernel(result, result, x)
		}
	}
	return result
}
