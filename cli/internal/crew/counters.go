package crew

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// counter has its own cache line, so that ranks disturb each other as little as possible.
type counter struct {
	n atomic.Uint64
	_ [cacheLine - 8]byte
}

const cacheLine = 64

// counters is shared memory that holds, for each rank, the number of barriers that it has entered.
type counters []counter

// entries is the trial of a barrier. Before each barrier the rank increments its counter. After the
// barrier, the counters of all ranks must show that they have entered it.
type entries struct {
	counters counters
	rank     int
}

func (e *entries) prepare(iteration int) { e.counters[e.rank].n.Store(uint64(iteration + 1)) }

// check adds a finding for every rank that has not entered the barrier, which this rank has left.
func (e *entries) check(wrong *Findings, iteration int) {
	i := uint64(iteration + 1)
	for other := range e.counters {
		if entered := e.counters[other].n.Load(); entered < i {
			wrong.Add(fmt.Sprintf("rank %d left barrier %d before rank %d had entered it (it had entered %d)", e.rank, i, other, entered))
		}
	}
}

func (e *entries) end(context.Context, *Findings) error { return nil }

// counterFile creates an unnamed file for the counters of ranks that are processes.
func counterFile(ranks int) (*os.File, error) {
	f, err := os.CreateTemp("", "schedgen-counters-")
	if err != nil {
		return nil, fmt.Errorf("shared counters: %w", err)
	}
	err = errors.Join(os.Remove(f.Name()), f.Truncate(int64(ranks)*cacheLine))
	if err != nil {
		return nil, fmt.Errorf("shared counters: %w", errors.Join(err, f.Close()))
	}
	return f, nil
}

// mapCounters maps the counters in f into memory, for the life of the process. It closes f.
func mapCounters(f *os.File, ranks int) (counters, error) {
	mem, err := syscall.Mmap(int(f.Fd()), 0, ranks*cacheLine, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("map the shared counters: %w", err)
	}
	return unsafe.Slice((*counter)(unsafe.Pointer(&mem[0])), ranks), nil
}
