package cast

import (
	"bytes"
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/mem"
)

// disk returns a sink that takes rate bytes a second, and rests once after restAt bytes.
func disk(into *bytes.Buffer, rate float64, restAt int, rest time.Duration) Sink {
	return func(ctx context.Context, r io.Reader) error {
		b := make([]byte, size)
		for {
			n, err := io.ReadFull(r, b)
			into.Write(b[:n])
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return nil
			}
			if err != nil {
				return err
			}
			pause := time.Duration(float64(n) / rate * float64(time.Second))
			if rest > 0 && into.Len() >= restAt {
				pause, rest = pause+rest, 0
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// behind returns the ranks that were left out with the error why. The others must have everything.
func (w *world) behind(t *testing.T, want []byte, why error) (ranks []int) {
	t.Helper()
	for i, o := range w.report.Outcomes {
		require.Equal(t, !o.Behind, o.Done, "%+v", o)
		if o.Behind {
			ranks = append(ranks, i+1)
			require.ErrorIs(t, w.errs[i+1], ErrSlow)
			require.Equal(t, why.Error(), o.Reason)
			continue
		}
		require.NoError(t, w.errs[i+1])
		require.True(t, bytes.Equal(want, w.got[i+1].Bytes()))
	}
	return ranks
}

// A receiver that was left out because its disk is slow continues where it stopped. It keeps the
// data that were on their way to the disk.
func TestSlowGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const fast = 20 * size // bytes a second
		want := text(9, 400*size)
		var got [2]bytes.Buffer
		var wg sync.WaitGroup
		comms := join(t, 3, mem.Options{}, "bcast/chain")
		wg.Go(func() {
			require.NoError(t, Receive(t.Context(), comms[1], disk(&got[0], fast, 0, 0), ReceiveOptions{piece: size}))
		})
		slow := NewIntake(t.Context(), disk(&got[1], fast/10, 0, 0), nil)
		wg.Go(func() { require.ErrorIs(t, slow.Receive(t.Context(), comms[2], ReceiveOptions{piece: size}), ErrSlow) })
		report, err := Send(t.Context(), comms[0], parts(want, 1<<20), SendOptions{piece: size, Behind: true})
		require.NoError(t, err)
		wg.Wait()
		require.Equal(t, []Outcome{{Rank: 1, Done: true}, {Rank: 2, Reason: errSlowDisk.Error(), Behind: true, told: true}}, report.Outcomes)
		require.True(t, bytes.Equal(want, got[0].Bytes()))
		from := slow.Have()
		require.Greater(t, from, int64(bufs*size))
		require.Less(t, from, int64(len(want)/2))
		comms = join(t, 2, mem.Options{}, "bcast/chain")
		wg.Go(func() {
			require.NoError(t, slow.Receive(t.Context(), comms[1], ReceiveOptions{From: from, piece: size}))
		})
		report, err = Send(t.Context(), comms[0], Tail(parts(want, 1<<20), from), SendOptions{piece: size})
		require.NoError(t, err)
		wg.Wait()
		require.Equal(t, int64(len(want))-from, report.Bytes)
		require.NoError(t, slow.Close())
		require.True(t, bytes.Equal(want, got[1].Bytes()))
	})
}

// The cast leaves out a receiver with a disk ten times slower than the others. The other receivers
// continue at their speed. No other receiver is left out.
func TestSlowIsLeftOut(t *testing.T) {
	const fast = 20 * size // bytes a second
	for name, c := range map[string]struct {
		rates  []float64
		limit  float64
		rest   time.Duration
		behind []int
	}{
		"one of three":        {rates: []float64{fast, fast / 10, fast}, behind: []int{2}},
		"one of two":          {rates: []float64{fast / 10, fast}, behind: []int{1}},
		"two of five":         {rates: []float64{fast, fast / 10, fast, fast / 20, fast}, behind: []int{2, 4}},
		"all alike":           {rates: []float64{fast, fast, fast}},
		"all slow":            {rates: []float64{fast / 10, fast / 10}},
		"alone":               {rates: []float64{fast / 10}},
		"half as fast":        {rates: []float64{fast, fast / 2, fast}},
		"rests":               {rates: []float64{fast, fast, fast}, rest: 10 * time.Second},
		"the network is slow": {rates: []float64{fast, fast / 10, fast}, limit: fast / 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(join(t, len(c.rates)+1, mem.Options{}, "bcast/chain"))
				w.o.Behind, w.o.Limit = true, c.limit
				want := text(6, 400*size)
				w.sink = func(rank int) Sink {
					rest := time.Duration(0)
					if rank == 2 {
						rest = c.rest
					}
					return disk(&w.got[rank], c.rates[rank-1], len(want)/2, rest)
				}
				began := time.Now()
				w.run(parts(want, 1<<20))
				require.Equal(t, c.behind, w.behind(t, want, errSlowDisk))
				if len(c.behind) > 0 {
					require.Less(t, time.Since(began), 150*time.Second, "20 s at the speed of the others, 200 s or more at that of the slow one")
				}
			})
		})
	}
}

// The sender names up to three receivers that hold up the others, the slowest first. It names no
// receiver that keeps up.
func TestProgressNamesTheSlowest(t *testing.T) {
	const fast = 20 * size // bytes a second
	for name, c := range map[string]struct {
		rates []float64
		limit float64
		named []int
	}{
		"one of three":        {rates: []float64{fast, fast / 4, fast}, named: []int{2}},
		"alone":               {rates: []float64{fast / 10}, named: []int{1}},
		"the network is slow": {rates: []float64{fast, fast / 4, fast}, limit: fast / 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(join(t, len(c.rates)+1, mem.Options{}, "bcast/chain"))
				w.o.Limit = c.limit
				w.sink = func(rank int) Sink { return disk(&w.got[rank], c.rates[rank-1], 0, 0) }
				told := map[int]float64{}
				w.o.Progress = func(p Progress) {
					for _, s := range p.Slow {
						told[s.Rank] = s.Rate
					}
				}
				w.run(parts(text(6, 200*size), 1<<20))
				require.NoError(t, w.err)
				require.Len(t, told, len(c.named))
				for _, rank := range c.named {
					require.InEpsilon(t, c.rates[rank-1], told[rank], 0.2)
				}
			})
		})
	}
	var p pace
	require.Empty(t, p.holding())
	for rank, waited := range []float64{1: 0.3, 2: 0.2, 3: 0.9, 4: 0.5, 5: 0.25} {
		p.report(rank, stint{Waited: 1, Bytes: 1, Busy: 1})
		p.report(rank, stint{Waited: waited, Bytes: int64(100 - 10*rank), Busy: 2})
	}
	require.Equal(t, []Slow{{5, 25}, {4, 30}, {3, 35}}, p.holding())
	p.forget(4)
	require.Equal(t, []Slow{{5, 25}, {3, 35}, {1, 45}}, p.holding())
}

// Pieces are short on slow networks. Fast networks, and those with unknown rates, have no effect.
func TestPieceFor(t *testing.T) {
	for rate, want := range map[float64]int{0: 1 << 20, 1e9: 1 << 20, 12.5e6: 1 << 20, 2.1e6: 1 << 20, 2e6: 1 << 19, 1.25e6: 1 << 19, 125e3: 1 << 15, 1: 1 << 15} {
		require.Equal(t, want, pieceFor(rate), "%v bytes a second", rate)
	}
	require.Equal(t, 1<<19, pieceFor(0, 2e6))
	require.Equal(t, 1<<19, pieceFor(2e6, 1e9))
}
