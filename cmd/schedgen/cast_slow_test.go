package main

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/cast"
)

// diskOf is a sink that takes a while for each MiB of the first so many.
func diskOf(pause time.Duration, slow int, rounds *int) *receiveSink {
	write := func(_ context.Context, r io.Reader) error {
		*rounds++
		for mib := 0; ; mib++ {
			_, err := io.CopyN(io.Discard, r, 1<<20)
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case mib < slow:
				time.Sleep(pause) // it is a disk
			}
		}
	}
	return &receiveSink{write: func() cast.Sink { return write }}
}

// A receiver whose disk is slow does not hold up the others, and gets the rest behind them.
func TestCastServesSlow(t *testing.T) {
	t.Parallel()
	path, _ := fileOf(t, 96<<20)
	sender := startCast(t, "cast", "--serve", path, "--expect", "2", "--listen", "127.0.0.1:0", "--json")
	at := sender.address()
	var wg sync.WaitGroup
	rounds, errs := make([]int, 2), make([]error, 2)
	for i, name := range []string{"fast", "slow"} {
		c := &receiveCmd{From: at, To: t.TempDir(), Name: name}
		disk := diskOf(time.Duration(i)*300*time.Millisecond, 64, &rounds[i])
		wg.Go(func() { errs[i] = c.receive(t.Context(), secret{}, disk, stdio{Err: io.Discard, Getenv: os.Getenv}) })
	}
	o, said := sender.ended(0)
	wg.Wait()
	require.Equal(t, []error{nil, nil}, errs)
	require.Equal(t, []int{1, 1}, rounds)
	require.Less(t, o.Sent, int64(170<<20))
	require.Contains(t, said, "slow, rank ")
	require.Contains(t, said, ": its disk is much slower than those of the others: it is served behind them")
	require.Len(t, o.Receivers, 2)
}
