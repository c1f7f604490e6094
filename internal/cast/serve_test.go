package cast

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	castrecord "github.com/schedgen/schedgen/internal/cast/record"
	"github.com/schedgen/schedgen/internal/cast/unpack"
	"github.com/schedgen/schedgen/internal/clock"
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

// diskTime is the time of a receiver with a disk. It passes only while the disk writes.
type diskTime struct {
	clock.Manual
	waits chan struct{} // gets a value when the broadcasts begin to wait for the disk
}

func (t *diskTime) AfterFunc(d time.Duration, f func()) clock.Timer {
	timer := t.Manual.AfterFunc(d, f) // of the receiver's patience with its sink
	select {
	case t.waits <- struct{}{}:
	default:
	}
	return timer
}

// slowReader is the data of a disk that takes each for a piece. The first pieces, and those after
// many, take no time.
type slowReader struct {
	ctx   context.Context
	from  io.Reader
	each  time.Duration
	waits bool // begins to write a piece only once the broadcasts wait for it
	time  *diskTime
	bytes int
}

func (r *slowReader) Read(b []byte) (int, error) {
	const few, many = 4, 64
	n, err := r.from.Read(b)
	before := r.bytes / size
	for r.bytes += n; before < r.bytes/size; before++ {
		if before < few || before >= many {
			continue
		}
		if r.waits {
			select {
			case <-r.time.waits:
			case <-r.ctx.Done():
				return 0, context.Cause(r.ctx)
			}
		}
		r.time.Advance(r.each)
	}
	return n, err
}

// diskOf returns a sink that reads through a slowReader, and counts how often it is started.
func diskOf(each time.Duration, waits bool, started *int) *joinSink {
	passing := &diskTime{waits: make(chan struct{}, 1)}
	totals := new(unpack.Totals)
	write := func(ctx context.Context, from io.Reader) error {
		*started++
		r := castrecord.NewReader(&slowReader{ctx: ctx, from: from, each: each, waits: waits, time: passing})
		for {
			rec, err := r.Next()
			if err != nil {
				return err
			}
			if rec.Kind == castrecord.End {
				totals.Digest = rec.Sum
				return nil
			}
		}
	}
	return &joinSink{write: func() Sink { return write }, totals: totals, clock: passing}
}

// A receiver whose disk is slow does not hold up the others, and gets the rest after them.
func TestServesSlow(t *testing.T) {
	t.Parallel()
	const bytes = 96 * size // too few to measure networks
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, make([]byte, bytes), 0o600))
	p, err := Files(t.Context(), path)
	require.NoError(t, err)
	l := local(t)
	var wg sync.WaitGroup
	rounds, errs := make([]int, 2), make([]error, 2)
	for i, name := range []string{"fast", "slow"} {
		c := &joiner{JoinOptions: JoinOptions{From: l.Addr().String(), To: t.TempDir(), Name: name}, events: newEvents(nil)}
		disk := diskOf([]time.Duration{400 * time.Millisecond, 4 * time.Second}[i], name == "slow", &rounds[i])
		wg.Go(func() { errs[i] = c.receive(t.Context(), disk) })
	}
	var said []string
	r, err := Serve(t.Context(), l, 2, p, Options{piece: size, Silence: -1, Events: func(e Event) {
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
	require.Less(t, r.Sent, int64(2*bytes-20*size), "the slow one gets only the rest")
	require.Contains(t, said, "slow: its disk is much slower than those of the others: it is served after them")
}
