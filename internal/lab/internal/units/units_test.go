package units

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/words"
)

func TestWire(t *testing.T) {
	require.InDelta(t, 8*1514/100e6, Wire(1472, 100e6), 1e-12)
	require.InDelta(t, 8*(1514+43)/100e6, Wire(1473, 100e6), 1e-12)
	require.InDelta(t, 0.0431, Wire(512<<10, 100e6), 1e-4)
	require.Zero(t, Wire(512<<10, 0))
}

// TestSpelling checks that spelled values can be read again.
func TestSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, MaxSize).Draw(t, "bytes")
		var got Bytes
		require.NoError(t, got.UnmarshalText([]byte(strings.ReplaceAll(words.Size(int64(n)), " ", ""))))
		require.EqualValues(t, n, got)
		r := rapid.Int64Range(0, 1e6).Draw(t, "Mbit/s") * 1e6
		rate, err := ParseRate(Rate(r))
		require.NoError(t, err)
		require.Equal(t, r, rate)
	})
	for text, want := range map[string]int{"0": 0, "0%": 0, "0.5%": 5, "0.005": 5, "1%": 10, "99.9%": 999} {
		got, err := ParseLoss(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "1", "100%", "99.99%", "0.05%", "-1%", "NaN%", "x%"} {
		_, err := ParseLoss(text)
		require.ErrorContains(t, err, "is no ", text)
	}
	require.Equal(t, "2.5 %", Loss(25))
}

func TestSeconds(t *testing.T) {
	for x, want := range map[float64]string{0: "-", -1: "-", 0.01234: "0.0123", 1: "1.00", 12.345: "12.3", 999: "999", 12345: "12345"} {
		require.Equal(t, want, Seconds(x))
	}
}

func TestCompareRates(t *testing.T) {
	ordered := []int64{1, 5, 0}
	for i, a := range ordered {
		for j, b := range ordered {
			require.Equal(t, cmp.Compare(i, j), CompareRates(a, b), "%d, %d", a, b)
		}
	}
}
