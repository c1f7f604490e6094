package yield

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const among = 1200 * time.Nanosecond

func TestAloneMovesWhenItIsNot(t *testing.T) {
	a := Alone{Patience: 2, Among: among}
	require.False(t, a.crowded(among))
	require.False(t, a.crowded(among))
	require.True(t, a.crowded(among), "the third yield among others")
	require.False(t, a.crowded(among), "counted anew after a move")
}

func TestAloneForgetsYieldsAlone(t *testing.T) {
	a := Alone{Patience: 1, Among: among}
	for range 100 {
		require.False(t, a.crowded(among), "what runs now and then is no reason to move")
		require.False(t, a.crowded(among-1))
	}
}

func TestAloneMovesSeldomWhereThatDoesNotHelp(t *testing.T) {
	var a Alone
	now, moves := time.Now(), 0
	for range 10_000 { // a second
		if a.mayMove(now) {
			moves++
		}
		now = now.Add(100 * time.Microsecond)
	}
	require.InDelta(t, int(time.Second/longPause), moves, 10)
	require.True(t, a.mayMove(now.Add(11*longPause)), "long after that it is as before")
	require.True(t, a.mayMove(now.Add(11*longPause+shortPause)))
}

func TestAloneYieldsOnlyAfterAWhile(t *testing.T) {
	a := Alone{Now: time.Now}
	var lock sync.Mutex
	lock.Lock()
	a.Begin()
	begun := a.since
	a.since = begun.Add(time.Hour)
	a.Wait(&lock)
	require.Equal(t, begun.Add(time.Hour), a.since, "the wait is young: no yield")
	a.since = begun.Add(-time.Hour)
	a.Wait(&lock)
	require.False(t, a.since.Before(begun))
	require.False(t, lock.TryLock(), "the lock is held again")
}
