package simnet

import (
	"github.com/schedgen/schedgen/internal/core"
)

// sum adds bytes.
var sum = core.Fold{Name: "sum of bytes", Element: 1, Commutes: true, Kernel: func(dst, a, b []byte) {
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}}

// contribution returns a rank's contribution in a step, followed by the blocks that it holds.
func (c *checker) contribution(step, rank int, o *Op) []byte {
	row := o.row()
	own := make([]byte, row.Inputs(c.w.sc.Ranks)*o.Bytes)
	r := seeded(c.w.sc.Seed, 'x', uint64(step), uint64(rank))
	r.fill(own)
	held := c.w.held(rank, o)
	for i := range held.Count {
		own = append(own, c.given(step, held.At(i), o)...)
	}
	return own
}

// given returns a block that a rank holds in a step of a collective that folds.
func (c *checker) given(step, block int, o *Op) []byte {
	b := make([]byte, o.Bytes)
	r := seeded(c.w.sc.Seed, 'g', uint64(step), uint64(block))
	r.fill(b)
	return b
}

// brought returns the expected results of a call at its rank.
func (c *checker) brought(p *process, r *request) (all []byte) {
	row, wanted := r.op.row(), c.w.wanted(p.rank, &r.op)
	if row.Inputs == nil {
		return c.joined(r.step, wanted)
	}
	for i := range wanted.Count {
		at := wanted.At(i) % row.Inputs(c.w.sc.Ranks) * r.op.Bytes
		block := make([]byte, r.op.Bytes)
		if wanted.At(i) < row.Question {
			block = c.given(r.step, wanted.At(i), &r.op)
		}
		for rank := range row.Folded(c.w.sc.Ranks, wanted.At(i)) {
			sum.Kernel(block, block, c.contribution(r.step, rank, &r.op)[at:])
		}
		all = append(all, block...)
	}
	return all
}

// inPlace reports whether a rank passes one buffer for its contribution and its result.
func (o *Op) inPlace(sc *Scenario, step, rank int) bool {
	row := o.row()
	return step%2 == 0 && row.Inputs(sc.Ranks) == 1 && row.Wanted(sc.Ranks, o.Root, rank).Count == 1
}
