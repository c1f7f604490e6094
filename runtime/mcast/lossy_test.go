package mcast_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mcast"
)

// lossy returns communicators whose ranks lose half of the datagrams.
func lossy(t *testing.T, size int, cfg runtime.Config) []*runtime.Comm {
	comms := make([]*runtime.Comm, size)
	for i, tr := range joinAll(t, size, mcast.Config{Family: 4, Loss: 0.5, Seed: 7}) {
		of := cfg
		of.Transport = tr
		c, err := runtime.Join(t.Context(), of)
		require.NoError(t, err)
		comms[i] = c
	}
	t.Cleanup(func() { closeAll(t, comms) })
	return comms
}

// A root that is adaptive and hears of many losses chooses another second stage, and all ranks follow
// it in the same broadcasts.
func TestOtherSecondStage(t *testing.T) {
	t.Parallel()
	comms := lossy(t, 5, runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/mcast-chain"}}, Delay: runtime.DelayAdaptive})
	each(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		for i := range uint64(200) {
			var buf [24]byte
			if c.Rank() == 2 {
				binary.LittleEndian.PutUint64(buf[8:], ^i)
			}
			if err := c.Bcast(ctx, buf[:], 2); err != nil {
				return err
			}
			if got := binary.LittleEndian.Uint64(buf[8:]); got != ^i {
				return fmt.Errorf("rank %d, broadcast %d: % x", c.Rank(), i, buf)
			}
			if err := c.Barrier(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	chosen := comms[2].Totals().OtherStage
	require.Positive(t, chosen)
	for _, c := range comms {
		require.Equal(t, chosen, c.Totals().OtherStage, "rank %d", c.Rank())
	}
}

// Questions and results that are multicast have the answers of all ranks, although half of the datagrams
// are lost.
func TestQuestionsByMulticast(t *testing.T) {
	t.Parallel()
	comms := lossy(t, 5, runtime.Config{Algorithms: runtime.Algorithms{"anyreduce": {Name: "anyreduce/mcast-acktree"}}})
	sum := &runtime.Fold{Name: "sum of uint64", Element: 8, Commutes: true, Kernel: func(dst, a, b []byte) {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(a)+binary.LittleEndian.Uint64(b))
	}}
	for _, c := range comms {
		require.NoError(t, c.Answers(runtime.Answering{Fold: sum, Answer: func(q runtime.Message) []byte {
			return binary.LittleEndian.AppendUint64(nil, uint64(q.Data[0])<<(8*c.Rank()))
		}}))
	}
	each(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
	each(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		for i := range byte(20) {
			got, err := c.Ask(ctx, []byte{i})
			if err != nil {
				return err
			}
			if n := binary.LittleEndian.Uint64(got); n != uint64(i)*0x0101010101 {
				return fmt.Errorf("rank %d, question %d: %x", c.Rank(), i, n)
			}
		}
		return nil
	})
	each(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
	require.EqualValues(t, 100, comms[0].Totals().Answered)
	require.GreaterOrEqual(t, comms[0].Totals().Transport.McastFrames, uint64(40), "20 questions and 20 results")
}
