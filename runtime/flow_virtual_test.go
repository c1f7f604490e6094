package runtime_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
)

// narrow has receivers that hold 16 datagrams, a fiftieth of the message.
var narrow = mem.Options{Datagram: 100, Queue: 16}

// broadcastLong broadcasts 800 chunks of a datagram each from rank 3. Each rank enters after its
// delay. It returns the time at which each rank returned.
func broadcastLong(t *testing.T, comms []*runtime.Comm, enter map[int]time.Duration) []time.Duration {
	message := bytes.Repeat([]byte("0123456789"), 8000)
	start := time.Now()
	out := make([]time.Duration, len(comms))
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		time.Sleep(enter[c.Rank()]) // virtual: the process comes late
		buf := make([]byte, len(message))
		if c.Rank() == 3 {
			copy(buf, message)
		}
		err := c.Bcast(context.Background(), buf, 3)
		require.True(t, bytes.Equal(message, buf), "rank %d", c.Rank())
		out[c.Rank()] = time.Since(start)
		return err
	}))
	return out
}

func longChunks() runtime.Config {
	return runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/mcast-acktree", Params: schedule.Params{Chunks: 800}}}}
}

// A multicast longer than the receivers' buffers loses nothing: all ranks get every chunk by
// multicast, and no time passes.
func TestLongMulticastDoesNotOverrun(t *testing.T) {
	for _, size := range []int{4, 8, 13} {
		virtual(t, size, narrow, longChunks(), func(comms []*runtime.Comm) {
			for range 3 {
				for _, took := range broadcastLong(t, comms, nil) {
					require.Less(t, took, base/2)
				}
			}
			for rank, c := range comms {
				if rank != 3 {
					// The end, which is sent more than once, may find the buffer full.
					require.GreaterOrEqual(t, c.Totals().LastMcastChunks, 790, "rank %d of %d", rank, size)
				}
			}
		})
	}
}

// A late rank delays the multicast by the base timeout and no longer. It gets the message by
// repair.
func TestLateRankDoesNotHoldTheMulticast(t *testing.T) {
	virtual(t, 8, narrow, longChunks(), func(comms []*runtime.Comm) {
		out := broadcastLong(t, comms, map[int]time.Duration{6: time.Second})
		for _, rank := range []int{4, 7} { // leaves of the tree; nobody is behind rank 6
			require.Less(t, out[rank], 10*base, "rank %d", rank)
		}
		require.GreaterOrEqual(t, out[3], time.Second, "the root knows of all")
		require.Less(t, out[6], time.Second+10*base)
	})
}

// Reports that arrive before a rank has entered are kept.
func TestEarlyReportsCount(t *testing.T) {
	virtual(t, 8, narrow, longChunks(), func(comms []*runtime.Comm) {
		out := broadcastLong(t, comms, map[int]time.Duration{7: base / 4}) // parent of three in the tree of rank 3
		for rank, took := range out {
			require.Less(t, took, base, "rank %d", rank)
		}
	})
}
