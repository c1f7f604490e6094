package main

import (
	"context"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/schedule"
)

// buffers are what one rank gives to a collective: the blocks that it holds, and room for those that
// it wants, one behind the other.
type buffers struct {
	held, wanted ir.Blocks
	block        int // bytes of each block
	src, dst     []byte
}

// newBuffers returns the buffers of a job's rank. A message lies in one place at its root.
func newBuffers(j *job) *buffers {
	row, b := rowOf(j.Collective), &buffers{block: int(j.Size)}
	if row.Blocks == nil {
		return b
	}
	b.held = row.Held(j.Params.Ranks, j.Params.Root, j.Rank)
	b.wanted = row.Wanted(j.Params.Ranks, j.Params.Root, j.Rank)
	b.dst = make([]byte, b.wanted.Count*b.block)
	if b.src = make([]byte, b.held.Count*b.block); isMessage(row) {
		b.src = b.dst[:len(b.src)]
	}
	return b
}

// sent and received return the i-th block of those that the rank holds, or wants.
func (b *buffers) sent(i int) []byte     { return b.src[i*b.block : (i+1)*b.block] }
func (b *buffers) received(i int) []byte { return b.dst[i*b.block : (i+1)*b.block] }

// calls are the collectives for which the runtime has a method of its own, which programs call. The
// others go by their names.
var calls = map[string]func(comm *runtime.Comm, b *buffers, root int) func(context.Context) error{
	schedule.Barrier: func(comm *runtime.Comm, _ *buffers, _ int) func(context.Context) error { return comm.Barrier },
	schedule.Bcast: func(comm *runtime.Comm, b *buffers, root int) func(context.Context) error {
		return func(ctx context.Context) error { return comm.Bcast(ctx, b.dst, root) }
	},
}

// performer returns the call of a job's collective, which is looked up once and not in each iteration.
func (w *worker) performer(b *buffers) func(ctx context.Context) error {
	collective, root := w.job.Collective, w.job.Params.Root
	if call := calls[collective]; call != nil {
		return call(w.comm, b, root)
	}
	return func(ctx context.Context) error { return w.comm.Collective(ctx, collective, b.dst, b.src, root) }
}
