package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSpread checks that the numbers ascend, include both ends, and are all numbers of the range or
// maxPoints of them. The test does not draw ranges: package rapid takes 19 ms to start, also in
// each of the thousand commands that the tests of this package run.
func TestSpread(t *testing.T) {
	check := func(lo, hi int) {
		all := spread(lo, hi)
		require.Len(t, all, min(hi-lo+1, maxPoints))
		require.Equal(t, lo, all[0])
		require.Equal(t, hi, all[len(all)-1])
		for i := 1; i < len(all); i++ {
			if all[i] <= all[i-1] {
				t.Fatalf("%d to %d: %d after %d", lo, hi, all[i], all[i-1])
			}
		}
	}
	for lo := range 100 {
		for hi := lo; hi <= lo+200; hi++ {
			check(lo, hi)
		}
	}
	for bit := range 21 {
		for _, lo := range []int{1<<bit - 1, 1 << bit, 3 << bit} {
			for more := 1; more <= 1<<20; more = more*3 + 1 {
				check(lo, lo+more)
			}
		}
	}
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
