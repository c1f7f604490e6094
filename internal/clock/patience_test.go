package clock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
)

func TestPatience(t *testing.T) {
	p := clock.Patience{Limit: 10 * time.Second}
	start := time.Unix(100, 0)
	for _, c := range []struct{ at, left, rest int }{
		{0, 50, 10}, {4, 50, 6}, {9, 49, 10}, {18, 49, 1}, {18, 48, 10}, // as long as it decreases
		{20, 60, 8}, {21, 59, 10}, {31, 59, 0}, {40, 59, -9}, {41, 0, 10},
	} {
		rest := p.Rest(start.Add(time.Duration(c.at)*time.Second), c.left)
		require.Equal(t, time.Duration(c.rest)*time.Second, rest, "%+v", c)
	}
}
