package runtime_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
)

// holed loses the multicasts of some chunks.
type holed struct {
	wire.Transport
	lost func(chunk int) bool
}

func (h holed) Poll(s wire.Sink) bool { return h.Transport.Poll(holedSink{s, h.lost}) }

type holedSink struct {
	wire.Sink
	lost func(chunk int) bool
}

func (s holedSink) Fragment(h *wire.Header, offset int, payload []byte) wire.Verdict {
	if h.Slot.Kind() == ir.KindChunk && h.Arg == 0 && s.lost(h.Slot.Index()) {
		return wire.Drop
	}
	return s.Sink.Fragment(h, offset, payload)
}

// broadcastHoles broadcasts 40 chunks among 8 ranks, which lose what lost says,
// and returns when all had returned.
func broadcastHoles(t *testing.T, lost func(rank, chunk int) bool) (took time.Duration, comms []*runtime.Comm) {
	return broadcastOver(t, mem.Options{Datagram: 100}, func(rank int, tr wire.Transport) wire.Transport {
		return holed{tr, func(k int) bool { return lost(rank, k) }}
	})
}

func broadcastOver(t *testing.T, o mem.Options, wrap func(int, wire.Transport) wire.Transport) (took time.Duration, comms []*runtime.Comm) {
	const chunks = 40
	cfg := ackTree
	cfg.Bcast.Params.Chunks = chunks
	message := make([]byte, 40*100)
	for i := range message {
		message[i] = byte(i * 7)
	}
	virtual(t, 8, o, cfg, wrap, func(all []*runtime.Comm) {
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

// unanswered loses the first answer that a rank gets, or its first n.
type unanswered struct {
	wire.Transport
	n *int
}

func (u unanswered) Poll(s wire.Sink) bool { return u.Transport.Poll(unansweredSink{s, u.n}) }

type unansweredSink struct {
	wire.Sink
	n *int
}

func (s unansweredSink) Fragment(h *wire.Header, offset int, payload []byte) wire.Verdict {
	if h.Kind == wire.FrameSlot && h.Arg != 0 && *s.n > 0 {
		*s.n--
		return wire.Drop
	}
	return s.Sink.Fragment(h, offset, payload)
}

// An answer that is lost is asked for again after a quarter of the timeout, as
// long as it is not known how long answers take, and by put in the end.
func TestLostAnswerIsAskedForAgain(t *testing.T) {
	for answers, want := range map[int]time.Duration{0: 0, 1: base / 4, 1000: base / 2} {
		took, comms := broadcastOver(t, mem.Options{Datagram: 100}, func(rank int, tr wire.Transport) wire.Transport {
			n := answers
			return unanswered{holed{tr, func(k int) bool { return rank == 5 && k == 20 }}, &n}
		})
		require.Equal(t, want, took, "%d answers lost", answers)
		require.Equal(t, 1, comms[5].Totals().LastPutChunks)
	}
}

// A rank that is asked for what it has lost as well passes it on when it has it, so
// no timeout passes. If all on the way round have lost it, the first of them that
// gets the acknowledgement of a rank that has it asks that one (paper 002, section
// 3.3.4).
func TestChunkThatTheAskedHasLost(t *testing.T) {
	for _, lost := range []int{2, 3, 5} {
		round := []int{1, 3, 2, 5, 4} // each asks the next, the last one the first
		took, comms := broadcastHoles(t, func(rank, k int) bool { return slices.Contains(round[:lost], rank) && k == 20 })
		require.LessOrEqual(t, took, 10*idle, "%d ranks: the background of one that has returned answers", lost)
		for _, rank := range round[:lost] {
			require.Equal(t, 1, comms[rank].Totals().LastPutChunks)
		}
	}
}

// While ranks see losses, their signals go as datagrams too, which come though
// puts are held up.
func TestSignalsAreDoubledWhileLossesAreSeen(t *testing.T) {
	const resend = 12 * time.Millisecond
	for _, losing := range []bool{false, true} {
		o := mem.Options{Datagram: 100, Resent: 1, ResendAfter: resend}
		took, comms := broadcastOver(t, o, func(rank int, tr wire.Transport) wire.Transport {
			return holed{tr, func(k int) bool { return losing && k == rank+10 }}
		})
		if !losing {
			require.Equal(t, 3*resend, took, "the height of the tree")
		} else {
			require.Less(t, took, resend/4)
		}
		for _, c := range comms[1:] {
			require.Equal(t, losing, c.Totals().Doubled > 0)
		}
	}
}

// Broadcasts over a network that loses datagrams and holds puts up.
func TestBroadcastsOverLosingNetwork(t *testing.T) {
	cfg := ackTree
	cfg.Bcast.Params.Chunks = 40
	o := mem.Options{Datagram: 100, Loss: 0.05, Resent: 0.05, ResendAfter: 12 * time.Millisecond, Duplicate: 0.05, Reorder: 0.05, Seed: 7}
	virtual(t, 8, o, cfg, nil, func(comms []*runtime.Comm) {
		const rounds = 30
		start := time.Now()
		for i := range rounds {
			require.NoError(t, each(comms, func(c *runtime.Comm) error {
				buf := make([]byte, 40*100)
				if c.Rank() == i%8 {
					for j := range buf {
						buf[j] = byte(i + j)
					}
				}
				err := c.Bcast(context.Background(), buf, i%8)
				for j := range buf {
					require.Equal(t, byte(i+j), buf[j])
				}
				return err
			}))
		}
		require.Less(t, time.Since(start), rounds*base/2, "losses cost no timeouts")
	})
}
