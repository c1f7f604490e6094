package runtime_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// holed loses the multicasts of some chunks.
type holed struct {
	runtime.Transport
	lost func(chunk int) bool
}

func (h holed) Poll(s runtime.Sink) bool { return h.Transport.Poll(holedSink{s, h.lost}) }

type holedSink struct {
	runtime.Sink
	lost func(chunk int) bool
}

func (s holedSink) Fragment(h *runtime.Header, offset int, payload []byte) runtime.Verdict {
	if s.lost(h.Slot.Index()) {
		return runtime.Drop
	}
	return s.Sink.Fragment(h, offset, payload)
}

// broadcastHoles broadcasts 40 chunks among 8 ranks, which lose what lost says,
// and returns when all had returned.
func broadcastHoles(t *testing.T, lost func(rank, chunk int) bool) (took time.Duration, comms []*runtime.Comm) {
	const chunks = 40
	cfg := ackTree
	cfg.Bcast.Params.Chunks = chunks
	wrap := func(rank int, tr runtime.Transport) runtime.Transport {
		return holed{tr, func(k int) bool { return lost(rank, k) }}
	}
	message := make([]byte, 40*100)
	for i := range message {
		message[i] = byte(i * 7)
	}
	virtual(t, 8, mem.Options{Datagram: 100}, cfg, wrap, func(all []*runtime.Comm) {
		comms = all
		start := time.Now()
		require.NoError(t, each(all, func(c *runtime.Comm) error {
			buf := make([]byte, len(message))
			if c.Rank() == 0 {
				copy(buf, message)
			}
			err := c.Bcast(context.Background(), buf, 0)
			require.Equal(t, message, buf)
			return err
		}))
		took = time.Since(start)
	})
	return took, comms
}

// A chunk that a rank has missed costs a chunk, and no timeout.
func TestLostChunkIsAskedForAtOnce(t *testing.T) {
	took, comms := broadcastHoles(t, func(rank, k int) bool { return k == rank+10 })
	require.Less(t, took, base/2)
	for rank, c := range comms[1:] {
		require.Equal(t, 1, c.Totals().LastPutChunks, "rank %d", rank+1)
	}
}

// The last chunk is told of by a later one only if that comes; else a silence
// has to do.
func TestLostEndIsAskedFor(t *testing.T) {
	took, comms := broadcastHoles(t, func(rank, k int) bool { return rank == 5 && k >= 37 })
	require.LessOrEqual(t, took, 2*base)
	require.Equal(t, 3, comms[5].Totals().LastPutChunks)
}

// A chunk that everybody has missed comes from the root.
func TestChunkThatAllHaveLost(t *testing.T) {
	_, comms := broadcastHoles(t, func(rank, k int) bool { return k == 20 })
	for _, c := range comms[1:] {
		require.Equal(t, 1, c.Totals().LastPutChunks)
	}
}
