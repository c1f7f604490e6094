package moment

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDelay(t *testing.T) {
	var d Delay
	require.Zero(t, d.Late(), "nothing is known")
	require.Zero(t, d.Mean())
	d.Took(100)
	require.EqualValues(t, 100, d.Late())
	require.EqualValues(t, 100, d.Mean())
	for range 100 {
		d.Took(1000)
	}
	require.InDelta(t, 1000, float64(d.Late()), 50)
	d.Took(1e9)
	require.Less(t, d.Late(), Time(5000), "one that takes very long says little")
}
