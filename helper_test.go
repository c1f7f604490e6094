package schedgen_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/runtime/mem"
)

// group joins size ranks in this process.
func group(t require.TestingT, size int, cfg schedgen.Config) []*schedgen.Comm {
	return groupOf(t, size, mem.Options{Queue: 4096}, cfg)
}

// groupOf joins size ranks in this process, on a network with the options o.
func groupOf(t require.TestingT, size int, o mem.Options, cfg schedgen.Config) []*schedgen.Comm {
	transports, err := mem.New(size, o)
	require.NoError(t, err)
	comms := make([]*schedgen.Comm, size)
	for rank := range comms {
		own := cfg
		own.Transport = transports[rank]
		comms[rank], err = schedgen.Join(context.Background(), own)
		require.NoError(t, err)
	}
	return comms
}

// each runs f at all ranks at once and returns their errors joined. A rank that fails leaves, so
// the others do not wait for it.
func each(comms []*schedgen.Comm, f func(c *schedgen.Comm) error) error {
	errs := make([]error, len(comms))
	var wg sync.WaitGroup
	for i, c := range comms {
		wg.Go(func() {
			if errs[i] = f(c); errs[i] != nil {
				errs[i] = errors.Join(errs[i], c.Close())
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func closeAll(t require.TestingT, comms []*schedgen.Comm) {
	for _, c := range comms {
		require.NoError(t, c.Close())
	}
}

// ranks runs f at all of size ranks, and closes them.
func ranks(t testing.TB, size int, f func(c *schedgen.Comm) error) {
	comms := group(t, size, schedgen.Config{})
	require.NoError(t, each(comms, f))
	closeAll(t, comms)
}
