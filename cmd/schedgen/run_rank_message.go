package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"
)

// work broadcasts the message once to warm up and then once in each iteration. All ranks meet at a
// barrier before each broadcast, so that the time is that of the broadcast alone. It does not
// include overwriting the buffer before and computing the SHA-256 after the broadcast.
func (message) work(ctx context.Context, w *worker, out *outcome) error {
	b, root := newBuffers(w.job), w.job.Params.Root
	buf, call := b.dst, w.performer(b)
	if w.job.Rank == root {
		if err := w.res.input.load(buf, w.job.Sum); err != nil {
			return err
		}
	}
	for i := -1; i < w.job.Iterations; i++ {
		if w.job.Rank != root {
			spoil(buf, i)
		}
		if err := w.comm.Barrier(ctx); err != nil {
			return err
		}
		start := time.Now()
		if err := call(ctx); err != nil {
			return err
		}
		end := time.Now()
		if err := w.replies(ctx, start, end, i, out); err != nil {
			return err
		}
		checkBytes(&out.Wrong, buf, w.job.Sum, i)
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
	if err := w.comm.Barrier(ctx); err != nil {
		return err
	}
	return saveOutput(w.job.Output, buf)
}

// replies records at the root the time from its call until every rank has told that it has the
// message. After an algorithm without acknowledgements the ranks run a barrier for that.
func (w *worker) replies(ctx context.Context, start, end time.Time, iteration int, out *outcome) error {
	if !w.job.Replies {
		return nil
	}
	if !w.job.Acked {
		if err := w.comm.Barrier(ctx); err != nil {
			return err
		}
		end = time.Now()
	}
	if iteration >= 0 && w.job.Rank == w.job.Params.Root {
		out.Replied = append(out.Replied, int64(end.Sub(start)))
	}
	return nil
}

// spoil fills buf with a byte that depends on the iteration, so that missing bytes are noticed,
// even if the message consists of one byte repeated.
func spoil(buf []byte, iteration int) {
	if len(buf) == 0 {
		return
	}
	buf[0] = 0xa5 + byte(iteration)
	for n := 1; n < len(buf); n *= 2 {
		copy(buf[n:], buf[:n])
	}
}

// checkBytes compares the SHA-256 of buf with sum, that of the message. Iteration -1 is the
// warm-up.
func checkBytes(wrong *findings, buf []byte, sum string, iteration int) {
	if got := hexSum(buf); got != sum {
		wrong.add(fmt.Sprintf("iteration %d: SHA-256 is %s, not that of the message, %s", iteration+1, got, sum))
	}
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func saveOutput(name string, buf []byte) error {
	if name == "" {
		return nil
	}
	err := writeFile("output", name, func(w io.Writer) error {
		_, err := w.Write(buf)
		return err
	})
	if err != nil {
		return inputError{err}
	}
	return nil
}
