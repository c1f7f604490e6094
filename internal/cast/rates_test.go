package cast

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/meet/lobby"
)

// Receivers with slow networks are left out.
func TestSlowNetworksAreLeftOut(t *testing.T) {
	const k, m, file = 1e3, 1e6, 64 << 20
	for name, c := range map[string]struct {
		rates []float64
		bytes int64
		limit float64
		left  []int
	}{
		"one":                   {rates: []float64{12 * m, 1.2 * m, 12 * m}, bytes: file, left: []int{1}},
		"the first":             {rates: []float64{1.2 * m, 12 * m, 12 * m}, bytes: file, left: []int{0}},
		"one of two":            {rates: []float64{1.2 * m, 12 * m}, bytes: file, left: []int{0}},
		"several":               {rates: []float64{12 * m, 1.2 * m, 12 * m, 10 * k, 12 * m}, bytes: file, left: []int{1, 3}},
		"most are slow":         {rates: []float64{12 * m, 1.2 * m, 1.2 * m}, bytes: file},
		"half as fast":          {rates: []float64{12 * m, 6 * m, 12 * m}, bytes: file},
		"not measured":          {rates: []float64{12 * m, 0, 12 * m}, bytes: file},
		"none measured":         {rates: []float64{0, 0, 0}, bytes: file},
		"soon done":             {rates: []float64{12 * m, 1.2 * m, 12 * m}, bytes: 2 * m},
		"the limit is as slow":  {rates: []float64{12 * m, 1.2 * m, 12 * m}, bytes: file, limit: 2 * m},
		"the limit is not slow": {rates: []float64{12 * m, 1.2 * m, 12 * m}, bytes: file, limit: 7 * m, left: []int{1}},
		"nobody knows how much": {rates: []float64{12 * m, 1.2 * m, 12 * m}, bytes: -1},
		"all are equally slow":  {rates: []float64{10 * k, 10 * k, 10 * k}, bytes: file},
		"alone":                 {rates: []float64{10 * k}, bytes: file},
	} {
		t.Run(name, func(t *testing.T) {
			var all []lobby.Guest
			var chosen, stay []int
			for i, rate := range c.rates {
				all, chosen = append(all, lobby.Guest{Name: fmt.Sprint("h", i), Rate: rate}), append(chosen, i)
			}
			for i := range all {
				if !slices.Contains(c.left, i) {
					stay = append(stay, i)
				}
			}
			var r rates
			var said []string
			tell := newEvents(func(e Event) { said = append(said, e.Host+": "+e.Text) })
			for range 2 { // it is reported once
				require.Equal(t, stay, r.leaveOut(all, slices.Clone(chosen), c.bytes, c.limit, tell))
			}
			for i := range all {
				require.Equal(t, slices.Contains(c.left, i), r.knows(&all[i]))
			}
			require.Equal(t, len(c.left), strings.Count(strings.Join(said, "\n"), "served after them"))
		})
	}
}

// The measurement sends at most a fiftieth of the bytes of a cast. If that is too little, there is
// none.
func TestProbes(t *testing.T) {
	for _, c := range []struct {
		bytes  int64
		guests int
		want   int
	}{{64 << 20, 15, 89478}, {64 << 20, 40, 33554}, {64 << 20, 100, 0}, {1 << 20, 2, 0}, {-1, 2, 0}, {1 << 60, 3, 1 << 30}, {0, 0, 0}} {
		require.Equal(t, c.want, probeOf(c.bytes, c.guests), "%d bytes to %d", c.bytes, c.guests)
	}
}
