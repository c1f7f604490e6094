package cast

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime/mem"
)

// longer is a length of pieces that do not fit into a small buffer.
const longer = 512 << 10

const chain, tree = "bcast/chain", "bcast/mcast-acktree"

// leftOut casts a number of pieces over networks with rates. It returns the ranks that were left
// out because their networks are slow, and the time of the whole cast.
func leftOut(t *testing.T, o mem.Options, algorithm string, pieces int) (behind []int, took time.Duration) {
	w := newWorld(join(t, len(o.Rates), o, algorithm))
	w.o.Behind, w.o.Chain, w.o.piece, w.r.piece = true, algorithm == chain, longer, longer
	want := long()[:pieces*longer]
	w.sink = func(int) Sink { return only(want) }
	began := time.Now()
	w.run(parts(want, 1<<20))
	require.NoError(t, w.err)
	return w.behind(t, nil, errSlowHost), time.Since(began) // the sinks keep nothing
}

// long returns 100 long pieces.
var long = sync.OnceValue(func() []byte { return text(7, 100*longer) })

// only returns a sink that takes want, and fails if other data come.
func only(want []byte) Sink {
	return func(_ context.Context, r io.Reader) error {
		b, rest := make([]byte, 64<<10), want
		for {
			n, err := r.Read(b)
			if !bytes.HasPrefix(rest, b[:n]) {
				return errors.New("other data have come")
			}
			if rest = rest[n:]; err == io.EOF && len(rest) == 0 {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
}

// The cast leaves out a receiver with a network ten times slower than the others. The other
// receivers continue at their speed. No other receiver is left out.
func TestSlowNetworkIsLeftOut(t *testing.T) {
	const fast = 10 * longer // bytes a second
	for name, c := range map[string]struct {
		algorithm string
		rates     []float64 // by receiver
		room      int       // datagrams in a receiver's buffer
		behind    []int
		within    time.Duration // 6 s at the speed of the others, and 60 s or more at that of the slow one
	}{
		"chain, in the middle":         {algorithm: chain, rates: []float64{fast, fast / 10, fast}, behind: []int{2}, within: 25 * time.Second},
		"chain, at the end":            {algorithm: chain, rates: []float64{fast, fast, fast / 10}, behind: []int{3}, within: 25 * time.Second},
		"chain, all slow":              {algorithm: chain, rates: []float64{fast / 10, fast / 10, fast / 10}, within: 70 * time.Second},
		"chain, the first":             {algorithm: chain, rates: []float64{fast / 10, fast, fast}, within: 70 * time.Second},
		"chain, half as fast":          {algorithm: chain, rates: []float64{fast, fast / 2, fast}, within: 15 * time.Second},
		"tree, one of three":           {algorithm: tree, rates: []float64{fast, fast / 10, fast}, behind: []int{2}, within: 50 * time.Second},
		"tree, the first":              {algorithm: tree, rates: []float64{fast / 10, fast, fast}, behind: []int{1}, within: 40 * time.Second},
		"tree, one of two":             {algorithm: tree, rates: []float64{fast, fast / 10}, behind: []int{2}, within: 40 * time.Second},
		"tree, two of six":             {algorithm: tree, rates: []float64{fast / 20, fast, fast, fast, fast, fast / 10}, behind: []int{1, 6}, within: 2 * time.Minute},
		"tree, all slow":               {algorithm: tree, rates: []float64{fast / 10, fast / 10, fast / 10}, within: 2 * time.Minute},
		"tree, half as fast":           {algorithm: tree, rates: []float64{fast, fast / 2, fast}, within: 40 * time.Second},
		"tree, little room":            {algorithm: tree, rates: []float64{fast, fast / 10, fast}, room: 20, behind: []int{2}, within: 60 * time.Second},
		"tree, little room, all alike": {algorithm: tree, rates: []float64{fast, fast, fast, fast, fast, fast}, room: 20, within: 30 * time.Second},
		"tree, alone":                  {algorithm: tree, rates: []float64{fast / 10}, within: 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && len(c.behind) == 0 {
				t.Skip("the others have the same goroutines")
			}
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := mem.Options{Rates: append([]float64{0}, c.rates...), Queue: c.room}
				pieces := 60
				if len(c.behind) == 0 {
					pieces = heavy.Or(30, 60) // nothing happens
				}
				behind, took := leftOut(t, o, c.algorithm, pieces)
				require.Equal(t, c.behind, behind)
				require.Less(t, took, c.within)
			})
		})
	}
}

// A receiver whose network becomes slow during the cast is left out. If the networks of all, or of
// the sender, become slow, no receiver is left out.
func TestNetworkBecomesSlow(t *testing.T) {
	const fast, later = 10 * longer, 3 * time.Second
	for name, c := range map[string]struct {
		algorithm string
		then      []float64 // by receiver
		behind    []int
		within    time.Duration // 10 s at the first speed; at that of the slow one 73 s in a chain, and 130 s or more in a tree
	}{
		"chain, in the middle": {algorithm: chain, then: []float64{fast, fast / 10, fast}, behind: []int{2}, within: 50 * time.Second},
		"chain, at the end":    {algorithm: chain, then: []float64{fast, fast, fast / 10}, behind: []int{3}, within: 50 * time.Second},
		"chain, all":           {algorithm: chain, then: []float64{fast / 10, fast / 10, fast / 10}, within: 170 * time.Second},
		"chain, a little":      {algorithm: chain, then: []float64{fast, fast / 2, fast}, within: 40 * time.Second},
		"tree, one of three":   {algorithm: tree, then: []float64{fast, fast / 10, fast}, behind: []int{2}, within: 130 * time.Second},
		"tree, the first":      {algorithm: tree, then: []float64{fast / 10, fast, fast}, behind: []int{1}, within: 130 * time.Second},
		"tree, all":            {algorithm: tree, then: []float64{fast / 10, fast / 10, fast / 10}, within: 6 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && len(c.behind) == 0 {
				t.Skip("the others have the same goroutines")
			}
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := mem.Options{Rates: make([]float64, len(c.then)+1), Later: later, Then: append([]float64{0}, c.then...)}
				for i := range c.then {
					o.Rates[i+1] = fast
				}
				pieces := 100
				if len(c.behind) == 0 {
					pieces = heavy.Or(60, 100) // nothing happens
				}
				behind, took := leftOut(t, o, c.algorithm, pieces)
				require.Equal(t, c.behind, behind)
				require.Less(t, took, c.within)
			})
		})
	}
}
