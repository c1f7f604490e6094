package main

import (
	"context"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/cast"
	castrecord "github.com/schedgen/schedgen/cast/record"
	"github.com/schedgen/schedgen/cast/unpack"
)

// diskOf is a sink that takes a while for each MiB of the first so many.
func diskOf(pause time.Duration, slow int, rounds *int) *receiveSink {
	totals := new(unpack.Totals)
	write := func(_ context.Context, from io.Reader) error {
		*rounds++
		r := castrecord.NewReader(from)
		for bytes, mib := 0, 0; ; {
			rec, err := r.Next()
			if err != nil {
				return err
			}
			if rec.Kind == castrecord.End {
				totals.Digest = rec.Sum
				return nil
			}
			if bytes += len(rec.Data); bytes > mib<<20 && mib < slow {
				mib++
				time.Sleep(pause) // it is a disk
			}
		}
	}
	return &receiveSink{write: func() cast.Sink { return write }, totals: totals}
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
