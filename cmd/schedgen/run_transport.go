package main

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// The transports of run.
const (
	overMem   = "mem"
	overTCP   = "tcp"
	overMcast = "mcast"
)

// openTransport connects a rank that is a process with the others.
func openTransport(ctx context.Context, j *job) (runtime.Transport, error) {
	l, err := j.listener()
	if err != nil {
		return nil, err
	}
	cfg := tcp.Config{Rank: j.Rank, Size: j.Params.Ranks, Coordinator: j.Link.Coordinator, Listener: l}
	switch j.Link.Transport {
	case overTCP:
		return opened(tcp.Join(ctx, cfg))
	}
	return nil, fmt.Errorf("no transport %q", j.Link.Transport)
}

// opened makes sure that an error does not come with a transport that is not
// nil but holds a nil pointer.
func opened[T runtime.Transport](t T, err error) (runtime.Transport, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}
