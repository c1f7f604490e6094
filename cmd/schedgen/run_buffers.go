package main

import (
	"context"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/schedule"
)

// buffers are what one rank passes to a collective: the blocks that it holds or contributes, and space
// for the blocks that it wants. The blocks of each lie one after another.
type buffers struct {
	held, wanted ir.Blocks
	in, out      []int // bytes of each of them
	fromIn       []int // where each begins in src
	fromOut      []int // where each begins in dst
	counted      bool  // they have lengths of their own
	src, dst     []byte
	job          *job
	fold         *runtime.Fold // of a collective that folds: see [contributed] for what held are then
}

// newBuffers returns the buffers of a job's rank. A message lies in one place at its root.
func newBuffers(j *job) *buffers {
	row, b := rowOf(j.Collective), &buffers{job: j, counted: j.Counts != nil}
	if row.Blocks == nil {
		return b
	}
	b.held = row.Held(j.Params.Ranks, j.Params.Root, j.Rank)
	if row.Inputs != nil {
		b.held = contributed(row, j.Params.Ranks, j.Params.Root, j.Rank)
		b.fold, _ = j.Fold.fold() // the flags have been looked at
	}
	b.wanted = row.Wanted(j.Params.Ranks, j.Params.Root, j.Rank)
	lay := func(of ir.Blocks) (lengths, from []int, all []byte) {
		end := 0
		for i := range of.Count {
			n := int(j.length(of.At(i)))
			lengths, from = append(lengths, n), append(from, end)
			end += n
		}
		return lengths, from, make([]byte, end)
	}
	b.out, b.fromOut, b.dst = lay(b.wanted)
	if b.in, b.fromIn, b.src = lay(b.held); isMessage(row) {
		b.src = b.dst[:len(b.src)]
	}
	return b
}

// sent and received return the i-th block of those that the rank holds, or wants.
func (b *buffers) sent(i int) []byte     { return b.src[b.fromIn[i]:][:b.in[i]] }
func (b *buffers) received(i int) []byte { return b.dst[b.fromOut[i]:][:b.out[i]] }

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
	if b.fold != nil {
		call := runtime.Call{Collective: collective, Root: root, Dst: b.dst, Src: b.src, Fold: b.fold}
		return func(ctx context.Context) error { return w.comm.Do(ctx, call) }
	}
	if b.counted {
		call := runtime.Call{
			Collective: collective, Root: root, Dst: b.dst, Src: b.src,
			Counted: true, DstCounts: b.out, SrcCounts: b.in,
		}
		return func(ctx context.Context) error { return w.comm.Do(ctx, call) }
	}
	return func(ctx context.Context) error { return w.comm.Collective(ctx, collective, b.dst, b.src, root) }
}
