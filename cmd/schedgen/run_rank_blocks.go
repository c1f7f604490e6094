package main

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// work runs the collective once to warm up and then in every iteration. All ranks meet at a barrier
// before each, so that what is timed is the collective alone: to make the blocks up, and to compare
// them, is outside the time.
func (blocks) work(ctx context.Context, w *worker, out *outcome) error {
	b, p := newBuffers(w.job), newPattern(w.job)
	call := w.performer(b)
	for i := -1; i < w.job.Iterations; i++ {
		p.fill(b, i)
		if err := w.comm.Barrier(ctx); err != nil {
			return err
		}
		start := time.Now()
		if err := call(ctx); err != nil {
			return err
		}
		end := time.Now()
		p.compare(&out.Wrong, b, i)
		if i < 0 {
			continue
		}
		t := w.comm.Totals()
		out.McastChunks += uint64(t.LastMcastChunks)
		out.PutChunks += uint64(t.LastPutChunks)
		if err := w.batch.add(end.Sub(start), end); err != nil {
			return err
		}
	}
	return w.comm.Barrier(ctx)
}

// pattern makes blocks up. What a block has depends on the seed, the iteration and its number, so that
// no block looks like another one, or like its own in another iteration.
type pattern struct {
	generator
	seed uint64
}

func newPattern(j *job) *pattern { return &pattern{newGenerator(), j.Seed} }

func (p *pattern) block(size, iteration, number int) []byte {
	return p.make(size, p.seed, uint64(iteration), uint64(number))
}

// wanted returns a block that the rank is to get.
func (p *pattern) wanted(b *buffers, size, iteration, number int) []byte {
	if b.fold != nil {
		return p.folded(b, iteration, number, size)
	}
	return p.block(size, iteration, number)
}

// sent returns a block that the rank has at first.
func (p *pattern) sent(b *buffers, size, iteration, number int) []byte {
	if b.fold != nil {
		return p.contribution(b, iteration, b.job.Rank, number, size)
	}
	return p.block(size, iteration, number)
}

// fill makes up the blocks that the rank holds, and puts into the place of each that it wants what
// differs from it in every byte: a byte that is not received cannot look received.
func (p *pattern) fill(b *buffers, iteration int) {
	for i := range b.wanted.Count {
		to := b.received(i)
		for k, v := range p.wanted(b, len(to), iteration, b.wanted.At(i)) {
			to[k] = ^v
		}
	}
	for i := range b.held.Count {
		copy(b.sent(i), p.sent(b, b.in[i], iteration, b.held.At(i)))
	}
}

// compare looks at every byte of the blocks that the rank wants, and of those that it has sent, which
// have to be as they were. Iteration -1 is the warm-up.
func (p *pattern) compare(wrong *findings, b *buffers, iteration int) {
	look := func(what string, got, want []byte, number int) {
		if !bytes.Equal(got, want) {
			k := firstDifference(got, want)
			wrong.add(fmt.Sprintf("iteration %d: %s block %d has 0x%02x as byte %d, not 0x%02x", iteration+1, what, number, got[k], k, want[k]))
		}
	}
	for i := range b.wanted.Count {
		look("received", b.received(i), p.wanted(b, b.out[i], iteration, b.wanted.At(i)), b.wanted.At(i))
	}
	for i := range b.held.Count {
		look("its own", b.sent(i), p.sent(b, b.in[i], iteration, b.held.At(i)), b.held.At(i))
	}
}

// firstDifference returns where two slices of one length, which are not equal, differ first.
func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
