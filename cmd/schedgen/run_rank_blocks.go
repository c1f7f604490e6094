package main

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// work runs the collective once to warm up and then once in each iteration. All ranks meet at a
// barrier before each call, so that the time is that of the collective alone. It does not include
// making and comparing the blocks.
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

// pattern makes up the bytes of blocks. They depend on the seed, the iteration and the number of
// the block, so that no two blocks are alike.
type pattern struct {
	generator
	seed uint64
}

func newPattern(j *job) *pattern { return &pattern{newGenerator(), j.Seed} }

func (p *pattern) block(size, iteration, number int) []byte {
	return p.make(size, p.seed, uint64(iteration), uint64(number))
}

// wanted returns the right bytes of a block that the rank wants.
func (p *pattern) wanted(b *buffers, size, iteration, number int) []byte {
	if b.fold != nil {
		return p.folded(b, iteration, number, size)
	}
	return p.block(size, iteration, number)
}

// sent returns the bytes of a block that the rank holds or contributes.
func (p *pattern) sent(b *buffers, size, iteration, number int) []byte {
	if b.fold != nil {
		return p.contribution(b, iteration, b.job.Rank, number, size)
	}
	return p.block(size, iteration, number)
}

// fill makes up the blocks that the rank holds. It fills the space of each wanted block with bytes
// that all differ from the right ones, so that a missing byte is noticed.
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

// compare compares every byte of the blocks that the rank wants, and of those that it sent, which
// must be unchanged. Iteration -1 is the warm-up.
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

// firstDifference returns the first index at which two slices of equal length differ, or -1.
func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
