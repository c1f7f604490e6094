package datagram

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPause(t *testing.T) {
	for _, c := range []struct {
		d       time.Duration
		overrun bool
		want    time.Duration
	}{
		{-1, false, -1},
		{0, false, 0},
		{time.Second, false, time.Second},
		{-1, true, overrunPause},
		{0, true, 0},
		{overrunPause / 2, true, overrunPause / 2},
		{time.Second, true, overrunPause},
	} {
		require.Equal(t, c.want, pause(c.d, c.overrun), "%+v", c)
	}
}
