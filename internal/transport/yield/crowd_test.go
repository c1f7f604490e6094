package yield

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCrowdLooksSeldomWhereItDoesNotHelp(t *testing.T) {
	var c Crowd
	c.next(true)
	require.Equal(t, lookSoon, c.left)
	for range 20 {
		c.next(true)
	}
	require.Equal(t, lookSeldom, c.left)
	for range 20 {
		c.next(false)
	}
	require.Equal(t, lookSoon, c.left)
}

func TestCrowdLooksAtFirstAndThenNowAndThen(t *testing.T) {
	c := Crowd{Now: time.Now}
	c.Look()
	require.Equal(t, lookSoon, c.left)
	c.Look()
	require.Equal(t, lookSoon-1, c.left)
}

func TestCrowdLeavesALoadedMachineToTheSystem(t *testing.T) {
	c := Crowd{every: lookSoon}
	now := time.Now()
	require.False(t, c.among(now), "nothing is known yet")
	now = now.Add(lookSoon * slowYield / 2)
	require.True(t, c.among(now))
	require.False(t, c.among(now.Add(lookSoon*slowYield)))
}
