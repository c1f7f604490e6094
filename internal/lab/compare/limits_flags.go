package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// flagLine is a word on its own cache line, which one of two processes writes and the other polls.
type flagLine struct {
	seq atomic.Uint64
	_   [120]byte // lines are fetched in pairs
}

// flagBatch is the number of barriers that are timed together, because reading the clock takes as
// long as a barrier.
const flagBatch = 100

// exchangeFlags runs barriers between two processes. Each process writes one word and polls the
// other's word. It returns the times of a barrier.
func exchangeFlags(ctx context.Context, l *limit) (_ []float64, err error) {
	f, err := os.CreateTemp("", "schedgen-flags-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name()), f.Close()) }()
	if err := f.Truncate(int64(os.Getpagesize())); err != nil {
		return nil, err
	}
	lines, unmap, err := mapFlags(f)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unmap()) }()
	total := l.repeats + l.repeats/10
	c, err := startChild(ctx, "flags", f.Name(), strconv.Itoa(total*flagBatch))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	var times []float64
	for i := range total {
		start := time.Now()
		if !meet(ctx, &lines[0], &lines[1], uint64(i*flagBatch), flagBatch) {
			return nil, context.Cause(ctx)
		}
		if i >= l.repeats/10 {
			times = append(times, float64(time.Since(start))/1e3/flagBatch)
		}
	}
	return times, nil
}

// meet runs n barriers after the barriers already done. It returns false if ctx has ended.
func meet(ctx context.Context, own, other *flagLine, first uint64, n int) bool {
	for seq := first + 1; seq <= first+uint64(n); seq++ {
		own.seq.Store(seq)
		for spins := 1; other.seq.Load() < seq; spins++ {
			if spins%(1<<16) == 0 {
				if ctx.Err() != nil {
					return false
				}
				goruntime.Gosched()
			}
		}
	}
	return true
}

func mapFlags(f *os.File) (lines *[2]flagLine, unmap func() error, err error) {
	mem, err := syscall.Mmap(int(f.Fd()), 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	return (*[2]flagLine)(unsafe.Pointer(&mem[0])), func() error { return syscall.Munmap(mem) }, nil
}

// serveFlags is the other process.
func serveFlags(path string, n int) error {
	ctx, cancel := context.WithTimeout(context.Background(), limitTime)
	defer cancel()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close() // it is mapped
	lines, unmap, err := mapFlags(f)
	if err != nil {
		return err
	}
	meet(ctx, &lines[1], &lines[0], 0, n)
	return unmap()
}
