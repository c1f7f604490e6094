package cast

import (
	"bytes"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/runtime/mem"
)

// Receivers that lose the sender at any moment continue over another communicator, with another
// sender. Their sinks get no byte twice.
func TestGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(2, 4).Draw(t, "ranks")
		want := text(8, rapid.IntRange(0, 5*stride*size).Draw(t, "bytes"))
		source := parts(want, rapid.IntRange(1, 1<<20).Draw(t, "write"))
		got, intakes := make([]bytes.Buffer, ranks), make([]*Intake, ranks)
		var came atomic.Pointer[func(bytes int)] // called with the bytes of one receiver
		for rank := 1; rank < ranks; rank++ {
			intakes[rank] = NewIntake(context.Background(), watched(&got[rank], &came), nil)
		}
		from, sent := int64(0), int64(0)
		for round := 0; ; round++ {
			comms := join(t, ranks, mem.Options{}, "bcast/chain")
			ctx, leave := context.WithCancelCause(context.Background())
			o, until := SendOptions{piece: size, stale: pausing(t)}, rapid.IntRange(0, len(want)).Draw(t, "before it goes")
			o.Progress = func(p Progress) {
				if round == 0 && p.Bytes >= int64(until) {
					leave(errLeft)
				}
			}
			came.Store(new(func(bytes int) {
				if round == 1 && bytes >= until {
					leave(errLeft)
				}
			}))
			errs := make([]error, ranks)
			var wg sync.WaitGroup
			for rank := 1; rank < ranks; rank++ {
				wg.Go(func() {
					errs[rank] = intakes[rank].Receive(context.Background(), comms[rank], ReceiveOptions{From: from, piece: size})
				})
			}
			report, err := Send(ctx, comms[0], Tail(source, from), o)
			wg.Wait()
			leave(nil)
			sent += report.Bytes
			if err == nil {
				break
			}
			require.ErrorIs(t, err, errLeft)
			from = int64(len(want))
			for rank := 1; rank < ranks; rank++ {
				if errs[rank] != nil {
					require.ErrorIs(t, errs[rank], ErrParted)
				}
				from = min(from, intakes[rank].Have())
			}
		}
		for rank := 1; rank < ranks; rank++ {
			require.NoError(t, intakes[rank].Close())
			require.True(t, intakes[rank].done)
			require.True(t, bytes.Equal(want, got[rank].Bytes()), "rank %d has %d bytes of %d", rank, got[rank].Len(), len(want))
		}
		require.LessOrEqual(t, sent, int64(len(want)+2*2*most*size), "what a round repeats is what was under way")
	})
}

// watched returns a sink that reports how many bytes it has.
func watched(into *bytes.Buffer, came *atomic.Pointer[func(bytes int)]) Sink {
	return func(_ context.Context, r io.Reader) error {
		for b := make([]byte, size); ; {
			n, err := r.Read(b)
			into.Write(b[:n])
			(*came.Load())(into.Len())
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
}

// A cast fails if the source lacks data, or if a receiver lacks the data before its beginning.
func TestGoesOnInVain(t *testing.T) {
	w := newWorld(join(t, 3, mem.Options{}, "bcast/chain"))
	w.run(Tail(parts(make([]byte, 99), 10), 100))
	require.EqualError(t, w.err, "send: the source has become shorter: 1 of 100 bytes sent before are missing")
	w = newWorld(join(t, 3, mem.Options{}, "bcast/chain"))
	w.r.From = 1
	w.run(parts(make([]byte, 100), 10))
	for _, err := range w.errs[1:] {
		require.ErrorContains(t, err, "receive: the sender begins with byte 1, but only 0 bytes have come")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errLeft)
	require.ErrorIs(t, Tail(parts(make([]byte, 99), 10), 100)(ctx, io.Discard), errLeft)
}
