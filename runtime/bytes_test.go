package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// message returns n bytes drawn from seed i.
func message(i uint64, n int) []byte {
	var seed [32]byte
	seed[0], seed[1] = byte(i), byte(i>>8)
	b := make([]byte, n)
	_, _ = rand.NewChaCha8(seed).Read(b) // never fails
	return b
}

// checkBytes broadcasts message i of n bytes. Ranks other than the root receive it in buf.
func checkBytes(ctx context.Context, c *runtime.Comm, i uint64, n, root int, buf []byte) error {
	want := message(i, n)
	if c.Rank() == root {
		buf = bytes.Clone(want)
	}
	room := cap(buf)
	got, err := c.BcastBytes(ctx, buf, root)
	switch {
	case err != nil:
		return err
	case !bytes.Equal(got, want):
		return fmt.Errorf("rank %d: broadcast %d of %d bytes from rank %d gave %d bytes that are not these", c.Rank(), i, n, root, len(got))
	case n > 0 && n <= room && &got[0] != &buf[:1][0]:
		return fmt.Errorf("rank %d: %d bytes were not put where there was room for %d", c.Rank(), n, room)
	}
	return nil
}

// Other ranks get the root's message, in the memory that they offer if there is room.
func TestBcastBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, 9).Draw(rt, "ranks")
		loss := rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(rt, "loss")
		length := rapid.OneOf(rapid.IntRange(0, 8), rapid.IntRange(490, 520), rapid.IntRange(0, 20000))
		type call struct{ n, root, room int }
		calls := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) call {
			return call{length.Draw(rt, "bytes"), rapid.IntRange(0, size-1).Draw(rt, "root"), length.Draw(rt, "room")}
		}), 1, 6).Draw(rt, "calls")
		synctest.Test(t, func(t *testing.T) {
			comms := group(t, size, mem.Options{Seed: 1, Loss: loss, Datagram: 600}, runtime.Config{Chunk: 2000})
			require.NoError(t, each(comms, func(c *runtime.Comm) error {
				for i, call := range calls {
					if err := checkBytes(t.Context(), c, uint64(i), call.n, call.root, make([]byte, 0, call.room)); err != nil {
						return err
					}
				}
				return nil
			}))
			require.NoError(t, each(comms, (*runtime.Comm).Close))
		})
	})
}

// A loop that passes the last result receives without allocating.
func TestBcastBytesReuses(t *testing.T) {
	comms := group(t, 2, mem.Options{}, runtime.Config{})
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		var buf []byte
		for i, n := range []int{20000, 0, 7, 504, 505, 20000} {
			if c.Rank() == 0 {
				buf = message(uint64(i), n)
			}
			last := cap(buf)
			got, err := c.BcastBytes(t.Context(), buf, 0)
			if err != nil {
				return err
			}
			if c.Rank() == 1 && i > 0 && cap(got) != last {
				return fmt.Errorf("message %d of %d bytes is in other memory", i, n)
			}
			buf = got
		}
		return nil
	}))
	require.NoError(t, each(comms, (*runtime.Comm).Close))
}

// A rank with another MaxBcast, or one that calls Bcast with the length of the first part, does not
// take one for the other.
func TestBcastBytesMismatch(t *testing.T) {
	for name, limits := range map[string][2]int{"limits": {1000, 2000}, "no limit": {-1, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ts, err := mem.New(2, mem.Options{})
				require.NoError(t, err)
				var comms []*runtime.Comm
				for r, limit := range limits {
					c, err := runtime.Join(t.Context(), runtime.Config{Transport: ts[r], MaxBcast: limit})
					require.NoError(t, err)
					comms = append(comms, c)
				}
				mismatched(t, comms, func(c *runtime.Comm) error {
					_, err := c.BcastBytes(t.Context(), make([]byte, 7), 0)
					return err
				})
			})
		})
	}
	t.Run("Bcast", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			mismatched(t, group(t, 2, mem.Options{}, runtime.Config{}), func(c *runtime.Comm) error {
				if c.Rank() == 0 {
					return c.Bcast(t.Context(), make([]byte, 512), 0)
				}
				_, err := c.BcastBytes(t.Context(), nil, 0)
				return err
			})
		})
	})
}

// mismatched requires that call, or the operations after it, fail at all ranks.
func mismatched(t *testing.T, comms []*runtime.Comm, call func(c *runtime.Comm) error) {
	var seen [2]error
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		if seen[c.Rank()] = call(c); seen[c.Rank()] == nil {
			seen[c.Rank()] = c.Barrier(t.Context())
		}
		return nil
	}))
	for rank, err := range seen {
		require.ErrorContains(t, err, runtime.ErrMismatch.Error(), "rank %d", rank)
	}
	_ = each(comms, (*runtime.Comm).Close)
}

// After the first part of a message, the end of ctx fails the communicator at all ranks.
func TestBcastBytesHalfDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const trip = time.Millisecond // time for the acknowledgement of the first part, which the root waits for
		comms := group(t, 2, mem.Options{Resent: 1, ResendAfter: trip}, ackTree)
		ctx, cancel := context.WithTimeout(t.Context(), trip/2)
		defer cancel()
		var errs [2]error
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			msg, use := []byte(nil), ctx
			if c.Rank() == 0 {
				msg, use = make([]byte, 5000), t.Context()
			}
			_, errs[c.Rank()] = c.BcastBytes(use, msg, 0)
			return nil
		}))
		var op *runtime.OpError
		require.ErrorAs(t, errs[1], &op)
		require.Equal(t, uint64(2), op.Seq)
		require.ErrorIs(t, op, context.DeadlineExceeded)
		require.ErrorIs(t, errs[0], runtime.ErrAborted)
		require.Error(t, comms[1].Err())
		_ = each(comms, (*runtime.Comm).Close)
	})
}
