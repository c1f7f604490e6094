package yield

import (
	"sync"
	"time"
)

// Alone makes a rank wait if it should have a core to itself, because there are at least as many
// cores as ranks. Such a rank mostly polls. But the system cannot tell apart ranks that never
// sleep, and may leave two of them on one core, beside an idle core, for many operations. So a rank
// yields now and then. If other processes run during its yields again and again, it moves its
// thread to another core.
//
// With Now set, Alone is ready to use, with the least patience.
type Alone struct {
	// Patience is the number of yields during which others run that the rank tolerates before its
	// thread moves. It should differ between ranks, so that only one of two ranks on a core moves.
	Patience int
	// Among is the least duration of a yield during which others have run.
	Among time.Duration
	Stay  bool             // the thread never moves
	Now   func() time.Time // the clock

	since time.Time // end of the last yield, or start of the wait
	met   int       // yields during which others ran, minus yields without others
	moved time.Time
	pause time.Duration // after a move, time until the next
}

const (
	// aloneFor is how long a rank polls before it checks for others, since a yield costs as much as
	// a short operation.
	aloneFor   = 3 * time.Microsecond
	shortPause = 100 * time.Microsecond
	longPause  = 20 * time.Millisecond
)

// Begin starts a wait.
func (a *Alone) Begin() { a.since = a.Now() }

// Wait is called between polls without result. The caller holds the lock that guards a; Wait
// releases it while others may run.
func (a *Alone) Wait(lock sync.Locker) {
	start := a.Now()
	if start.Sub(a.since) < aloneFor {
		return
	}
	lock.Unlock()
	process()
	lock.Lock()
	a.since = a.Now()
	if a.crowded(a.since.Sub(start)) && !a.Stay && a.mayMove(a.since) {
		lock.Unlock()
		move()
		lock.Lock()
	}
}

// crowded counts a yield of duration d and reports whether it is time to move.
func (a *Alone) crowded(d time.Duration) bool {
	if d < a.Among {
		a.met = max(0, a.met-1)
		return false
	}
	if a.met++; a.met <= a.Patience {
		return false
	}
	a.met = 0
	return true
}

// mayMove limits how often the thread moves where moves do not help because no core is idle.
func (a *Alone) mayMove(now time.Time) bool {
	since := now.Sub(a.moved)
	if since < a.pause {
		return false
	}
	if since > 10*longPause {
		a.pause = 0
	}
	a.pause = min(max(2*a.pause, shortPause), longPause)
	a.moved = now
	return true
}
