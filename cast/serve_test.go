package cast

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	castrecord "github.com/schedgen/schedgen/cast/record"
	"github.com/schedgen/schedgen/cast/unpack"
)

// A receiver that reports success counts only if its digest is right.
func TestCastConfirms(t *testing.T) {
	sent := Digest{1}
	s := &server{payload: FromReader("-", nil), streamed: sent}
	all := []Outcome{{Done: true, Answer: sent[:]}, {Done: true, Answer: make([]byte, 32)}, {Done: true}, {Reason: "lost", Answer: sent[:]}}
	s.confirm(all)
	require.True(t, all[0].Done)
	require.Empty(t, all[0].Reason)
	for _, o := range all[1:] {
		require.False(t, o.Done)
	}
	require.Regexp(t, "^it has other data: its digest is 0+, not 010+$", all[1].Reason)
	require.Equal(t, "lost", all[3].Reason)
	s.streamed = Digest{} // not everything was read
	all = []Outcome{{Done: true, Answer: make([]byte, 32)}}
	s.confirm(all)
	require.False(t, all[0].Done)
}

// diskOf returns a sink that pauses after each of the first slow MiB.
func diskOf(pause time.Duration, slow int, rounds *int) *joinSink {
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
				time.Sleep(pause) // as a disk does
			}
		}
	}
	return &joinSink{write: func() Sink { return write }, totals: totals}
}

// A receiver whose disk is slow does not hold up the others, and gets the rest after them.
func TestServesSlow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares the speeds of two disks, of which the race detector leaves little difference")
	}
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, make([]byte, 96<<20), 0o600))
	p, err := Files(t.Context(), path)
	require.NoError(t, err)
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer l.Close()
	var wg sync.WaitGroup
	rounds, errs := make([]int, 2), make([]error, 2)
	for i, name := range []string{"fast", "slow"} {
		c := &joiner{JoinOptions: JoinOptions{From: l.Addr().String(), To: t.TempDir(), Name: name}, events: newEvents(nil)}
		disk := diskOf(time.Duration(i)*300*time.Millisecond, 64, &rounds[i])
		wg.Go(func() { errs[i] = c.receive(t.Context(), disk) })
	}
	var said []string
	r, err := Serve(t.Context(), l, 2, p, Options{Events: func(e Event) {
		if e.Kind == Notice {
			said = append(said, fmt.Sprintf("%s: %s", e.Host, e.Text))
		}
	}})
	wg.Wait()
	require.NoError(t, err)
	require.Equal(t, []error{nil, nil}, errs)
	require.Equal(t, []int{1, 1}, rounds)
	require.Zero(t, r.Failed())
	require.Len(t, r.Receivers, 2)
	require.Less(t, r.Sent, int64(170<<20))
	require.Contains(t, said, "slow: its disk is much slower than those of the others: it is served after them")
}
