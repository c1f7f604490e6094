//go:build linux

package shm_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A message of any length has few enough chunks to fit windows, so its chunks are lent, not put.
func TestLongMessagesAreLent(t *testing.T) {
	const ranks = 3
	trs := connect(t, ranks)
	done := make(chan error, ranks)
	for _, tr := range trs {
		go func() { done <- broadcastLong(t, tr) }()
	}
	for range ranks {
		require.NoError(t, <-done)
	}
	for rank, tr := range trs {
		lent := uint64(0)
		if rank < ranks-1 {
			lent = 16
		}
		require.Equal(t, lent, tr.Stats().Lent, "rank %d", rank)
	}
}

func broadcastLong(t *testing.T, tr wire.Transport) error {
	c, err := runtime.Join(t.Context(), runtime.Config{Transport: tr, Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/chain"}}})
	if err != nil {
		return err
	}
	defer c.Close()
	buf := bytes.Repeat([]byte{byte(tr.Rank())}, 40<<20)
	if err := c.Bcast(t.Context(), buf, 0); err != nil {
		return err
	}
	if bytes.Count(buf, []byte{0}) != len(buf) {
		return fmt.Errorf("rank %d has wrong bytes", tr.Rank())
	}
	return c.Barrier(t.Context())
}
