package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestSpread checks that the numbers ascend, include both ends, and are all numbers of the range or
// maxPoints of them.
func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.IntRange(0, 1<<20).Draw(t, "lo")
		hi := lo + rapid.IntRange(0, 1<<20).Draw(t, "more")
		all := spread(lo, hi)
		require.Len(t, all, min(hi-lo+1, maxPoints))
		require.Equal(t, lo, all[0])
		require.Equal(t, hi, all[len(all)-1])
		for i := 1; i < len(all); i++ {
			require.Greater(t, all[i], all[i-1])
		}
	})
}

func TestUnitsOfMachines(t *testing.T) {
	for text, want := range map[string]bitRate{"100Mbit": 1e8, "1.5Gbit": 15e8, "9bit": 9, "2kbit": 2000} {
		var r bitRate
		require.NoError(t, r.UnmarshalText([]byte(text)))
		require.Equal(t, want, r)
	}
	for _, text := range []string{"", "bit", "0bit", "-1Mbit", "NaNbit", "1e99bit", "5", "1Tbit"} {
		var r bitRate
		require.Error(t, r.UnmarshalText([]byte(text)), "%q", text)
	}
	for text, want := range map[string]perByte{"6ns": 6000, "0.08ns": 80, "0ns": 0} {
		var p perByte
		require.NoError(t, p.UnmarshalText([]byte(text)))
		require.Equal(t, want, p)
	}
	for _, text := range []string{"", "6", "-1ns", "NaNns", "1e99ns", "6us"} {
		var p perByte
		require.Error(t, p.UnmarshalText([]byte(text)), "%q", text)
	}
}
