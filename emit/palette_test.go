package emit

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// luminance returns the relative luminance of a colour #rrggbb (WCAG 2).
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	rgb, err := strconv.ParseUint(color[1:], 16, 32)
	require.NoError(t, err)
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := float64(rgb>>(16-8*i)&255) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestColorsStandOutOnBothBackgrounds(t *testing.T) {
	for _, l := range append(looks[:], ink, faint, alarm) {
		require.GreaterOrEqual(t, contrast(t, l.light, paper.light), 4.5, "%s, light", l.id)
		require.GreaterOrEqual(t, contrast(t, l.dark, paper.dark), 4.5, "%s, dark", l.id)
	}
}

func TestGridsStayBehind(t *testing.T) {
	require.Less(t, contrast(t, hair.light, paper.light), 2.0)
	require.Less(t, contrast(t, hair.dark, paper.dark), 2.0)
}

// TestKindsDifferInMoreThanColor compares the looks in grey.
func TestKindsDifferInMoreThanColor(t *testing.T) {
	seen := map[look]string{}
	for _, l := range looks {
		grey := look{width: l.width, dash: l.dash, open: l.open}
		require.NotContains(t, seen, grey, l.id)
		seen[grey] = l.id
	}
}
