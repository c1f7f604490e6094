package lobby

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A guest that seems slow is measured until it is clear whether it is.
func TestDoubt(t *testing.T) {
	type probe struct {
		rate  float64
		lossy bool
	}
	slow, lossy := probe{100, false}, probe{100, true}
	repeat := func(n int, p probe) (all []probe) {
		for range n {
			all = append(all, p)
		}
		return all
	}
	for name, c := range map[string]struct {
		probes []probe
		open   bool
		rate   float64
	}{
		"not measured":         {nil, true, 0},
		"not often enough":     {repeat(doubts-1, slow), true, 100},
		"alike":                {repeat(doubts, slow), false, 100},
		"nearly alike":         {append(repeat(doubts-1, slow), probe{140, false}), false, 140},
		"not alike":            {append(repeat(doubts, slow), probe{160, false}), true, 160},
		"never alike":          {append(repeat(mostDoubts-1, slow), probe{160, false}), false, 160},
		"lost each time":       {repeat(doubts+2, lossy), true, 100 * lossTakes},
		"lost too often":       {repeat(mostDoubts, lossy), false, 100 * lossTakes},
		"lost now and then":    {append(repeat(9, lossy), repeat(doubts, slow)...), false, 100},
		"lost, and faster yet": {append(repeat(doubts, slow), probe{200, true}), true, 200},
	} {
		d := new(doubt)
		for _, p := range c.probes {
			d.record(p.rate, p.lossy)
		}
		require.Equal(t, c.open, d.undecided(), name)
		require.Equal(t, c.rate, d.rate(), name)
	}
}
