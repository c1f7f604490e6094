package runtime_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// A message with chunks that no frame can carry is refused at every rank before anything is sent,
// and leaves the communicator intact. No code touches the message, which has no memory.
func TestChunksThatNoFrameCarries(t *testing.T) {
	for chunks := 1; chunks <= 3; chunks++ {
		t.Run(fmt.Sprintf("%d chunks", chunks), func(t *testing.T) {
			buf, err := unix.Mmap(-1, 0, chunks*wire.MaxBody+1, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
			if err != nil {
				t.Skipf("no such slice on this machine: %v", err)
			}
			defer unix.Munmap(buf)
			comms := group(t, 3, mem.Options{}, runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/binomial", Params: schedule.Params{Chunks: chunks}}}})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the rank that sends it waits for the others
			defer cancel()
			for _, c := range comms {
				err := c.Bcast(ctx, buf, 1)
				require.ErrorIs(t, err, runtime.ErrInput)
				require.ErrorContains(t, err, fmt.Sprintf("%d bytes in chunks of 2147483648, at most 2147483647 in each", len(buf)))
				_, err = c.StartBcast(ctx, buf, 1)
				require.ErrorIs(t, err, runtime.ErrInput)
				require.Zero(t, c.Totals().Transport.PutFrames)
			}
			require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Bcast(t.Context(), make([]byte, 9), 1) }))
			require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Close() }))
		})
	}
}

// By default a message is cut so that frames can carry its chunks: under the rules for two ranks of
// one host, which would not cut it; under an algorithm with a number of chunks of its own; and
// under user rules that ask for one chunk. No code touches the message, which has no memory, and
// the operation ends at once.
func TestLongMessagesAreCut(t *testing.T) {
	require.EqualValues(t, wire.MaxBody, selection.MaxChunk)
	whole, err := selection.Parse([]byte(`{"format": "schedgen-rules/1", "rules": [{"collective": "bcast", "algorithm": "bcast/linear", "params": {"chunks": 1}}]}`))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		cfg runtime.Config
		net mem.Options
	}{
		"built-in rules":  {net: mem.Options{Windows: true}},
		"own number":      {cfg: runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/symmetric"}}}},
		"rules of others": {cfg: runtime.Config{Rules: whole}},
	} {
		t.Run(name, func(t *testing.T) {
			buf, err := unix.Mmap(-1, 0, 2*wire.MaxBody+1, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
			if err != nil {
				t.Skipf("no such slice on this machine: %v", err)
			}
			defer unix.Munmap(buf)
			comms := group(t, 2, c.net, c.cfg)
			r, err := comms[1].StartBcast(t.Context(), buf, 0)
			require.NoError(t, err)
			require.GreaterOrEqual(t, comms[1].State().Open[0].Chunks, 3)
			require.NoError(t, comms[1].Close())
			require.ErrorIs(t, r.Wait(t.Context()), runtime.ErrClosed)
			require.NoError(t, comms[0].Close())
		})
	}
}
