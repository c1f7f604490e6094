package runtime_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// Call.Ended runs although nobody waits for the request, and before a later blocking call returns.
func TestEnded(t *testing.T) {
	comms := group(t, 3, mem.Options{}, runtime.Config{})
	var ended [3]atomic.Int32
	start := func(c *runtime.Comm, dst []byte) (*runtime.Request, error) {
		call := runtime.Call{Collective: "bcast", Dst: dst, Ended: func(err error) {
			if err == nil {
				ended[c.Rank()].Add(1)
			}
		}}
		if c.Rank() == 0 {
			call.Src = dst
		}
		return c.Start(t.Context(), call)
	}
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		dst := make([]byte, 100000)
		if c.Rank() == 0 {
			dst[99999] = 7
		}
		_, err := start(c, dst)
		for err == nil && ended[c.Rank()].Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		if dst[99999] != 7 {
			err = errors.New("the last byte is not there")
		}
		return err
	}))
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		r, err := start(c, make([]byte, 100000))
		for done := false; err == nil && !done; {
			done, err = r.Test()
		}
		return err
	}))
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		if _, err := start(c, make([]byte, 100000)); err != nil {
			return err
		}
		return c.Barrier(t.Context())
	}))
	require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Barrier(t.Context()) }))
	for i, c := range comms {
		require.Equal(t, int32(3), ended[i].Load())
		require.NoError(t, c.Close())
	}
}

// Call.Ended gets a failure, too.
func TestEndedByFailure(t *testing.T) {
	comms := group(t, 2, mem.Options{}, runtime.Config{})
	why := make(chan error, 1)
	r, err := comms[0].Start(t.Context(), runtime.Call{Collective: "barrier", Ended: func(err error) { why <- err }})
	require.NoError(t, err)
	require.NoError(t, comms[0].Close())
	require.ErrorIs(t, <-why, runtime.ErrClosed)
	done, err := r.Test()
	require.True(t, done)
	require.ErrorIs(t, err, runtime.ErrClosed)
	require.NoError(t, comms[1].Close())
}
