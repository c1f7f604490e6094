package runtime_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// group joins size ranks on a simulated network.
func group(t testing.TB, size int, o mem.Options, cfg runtime.Config) []*runtime.Comm {
	ts, err := mem.New(size, o)
	require.NoError(t, err)
	comms := make([]*runtime.Comm, size)
	for r := range comms {
		c := cfg
		c.Transport = ts[r]
		comms[r], err = runtime.Join(context.Background(), c)
		require.NoError(t, err)
	}
	return comms
}

// each runs f at all ranks at once and returns the first error.
func each(comms []*runtime.Comm, f func(c *runtime.Comm) error) error {
	errs := make(chan error, len(comms))
	for _, c := range comms {
		go func() { errs <- f(c) }()
	}
	var first error
	for range comms {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}
