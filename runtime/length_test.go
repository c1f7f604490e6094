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
)

// A message with chunks that no frame carries is refused at every rank, before
// anything is sent, and leaves the communicator intact. Nobody touches the message,
// which has no memory.
func TestChunksThatNoFrameCarries(t *testing.T) {
	for chunks := 1; chunks <= 3; chunks++ {
		t.Run(fmt.Sprintf("%d chunks", chunks), func(t *testing.T) {
			buf, err := unix.Mmap(-1, 0, chunks*wire.MaxBody+1, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
			if err != nil {
				t.Skipf("no such slice on this machine: %v", err)
			}
			defer unix.Munmap(buf)
			comms := group(t, 3, mem.Options{}, runtime.Config{Bcast: runtime.Algorithm{Name: "bcast/binomial", Params: schedule.Params{Chunks: chunks}}})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // who sends it waits for the others
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
