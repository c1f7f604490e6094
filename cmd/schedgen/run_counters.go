package main

import (
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
