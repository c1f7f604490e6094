package mem_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/mem"
)

func TestBadOptions(t *testing.T) {
	for want, o := range map[string]mem.Options{
		"Options.Loss is 2":         {Loss: 2},
		"Options.Queue is negative": {Queue: -1},
		"Options.Rates[1] is -1":    {Rates: []float64{0, -1}},
		"Options.Rates[0] is NaN":   {Rates: []float64{math.NaN()}},
		"Options.Then[0] is -1":     {Then: []float64{-1}},
		"Options.Later is negative": {Later: -1},
	} {
		_, err := mem.New(2, o)
		require.ErrorContains(t, err, want)
	}
}
