package crew

import (
	"context"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/schedule"
)

// buffers are the buffers that one rank passes to a collective: src with the blocks that it holds
// or contributes, and dst for the blocks that it wants. In each, blocks lie one after another.
type buffers struct {
	held, wanted ir.Blocks
	in, out      []int // bytes of each block of held, and of wanted
	fromIn       []int // offset of each block in src
	fromOut      []int // offset of each block in dst
	counted      bool  // the blocks have their own lengths
	src, dst     []byte
	job          *Job
	fold         *runtime.Fold // set if the collective folds; held then has contributed blocks before held ones
}

// newBuffers returns the buffers of a job's rank. For a message, src is the beginning of dst.
func newBuffers(j *Job) *buffers {
	row, b := j.Row(), &buffers{job: j, counted: j.Counts != nil}
	if row.Blocks == nil {
		return b
	}
	b.held = row.Held(j.Params.Ranks, j.Params.Root, j.Rank)
	if row.Inputs != nil {
		b.held = ir.Blocks{Step: 1, Count: row.SourceBlocks(j.Params.Ranks, j.Params.Root, j.Rank)}
		b.fold, _ = j.Fold.Fold() // never fails: the flags were checked
	}
	b.wanted = row.Wanted(j.Params.Ranks, j.Params.Root, j.Rank)
	lay := func(of ir.Blocks) (lengths, from []int, all []byte) {
		end := 0
		for i := range of.Count {
			n := int(j.Length(of.At(i)))
			lengths, from = append(lengths, n), append(from, end)
			end += n
		}
		return lengths, from, make([]byte, end)
	}
	b.out, b.fromOut, b.dst = lay(b.wanted)
	if b.in, b.fromIn, b.src = lay(b.held); row.Broadcasts() {
		b.src = b.dst[:len(b.src)]
	}
	return b
}

// sent returns block i of the blocks that the rank holds, or contributes.
func (b *buffers) sent(i int) []byte { return b.src[b.fromIn[i]:][:b.in[i]] }

// received returns block i of the blocks that the rank wants.
func (b *buffers) received(i int) []byte { return b.dst[b.fromOut[i]:][:b.out[i]] }

// elements returns lengths in bytes as numbers of elements.
func (b *buffers) elements(lengths []int) (counts []int) {
	size := 1
	if b.fold != nil {
		size = b.fold.Element
	}
	for _, n := range lengths {
		counts = append(counts, n/size)
	}
	return counts
}

// calls are the collectives for which the runtime has a method that programs call. The others are
// called by their names.
var calls = map[string]func(comm *runtime.Comm, b *buffers, root int) func(context.Context) error{
	schedule.Barrier: func(comm *runtime.Comm, _ *buffers, _ int) func(context.Context) error { return comm.Barrier },
	schedule.Bcast: func(comm *runtime.Comm, b *buffers, root int) func(context.Context) error {
		return func(ctx context.Context) error { return comm.Bcast(ctx, b.dst, root) }
	},
}

// performer returns the function that calls the job's collective. It looks the collective up once,
// and not in each iteration.
func (w *worker) performer(b *buffers) func(ctx context.Context) error {
	collective, root := w.job.Collective, w.job.Params.Root
	if call := calls[collective]; call != nil {
		return call(w.comm, b, root)
	}
	call := runtime.Call{Collective: collective, Root: root, Dst: b.dst, Src: b.src, Fold: b.fold}
	if b.counted {
		call.Counted, call.DstCounts, call.SrcCounts = true, b.elements(b.out), b.elements(b.in)
	}
	return func(ctx context.Context) error { return w.comm.Do(ctx, call) }
}
