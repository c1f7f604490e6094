package yield

import (
	"sync"
	"time"
)

// Alone is the waiting of a rank that is to have a core to itself, because
// there are at least as many cores as ranks. Such a rank mostly polls. But ranks
// that never sleep look all alike to the system, which may leave two of them on
// one core, beside one that is idle, for many operations. So now and then a rank
// yields, and if others run meanwhile, again and again, it moves its thread to
// another core.
//
// With Now set it is ready to be used, with the least patience.
type Alone struct {
	// Patience is how many yields among others are borne before the thread
	// moves. It should differ between ranks, so that of two on a core one moves.
	Patience int
	Stay     bool             // the thread never moves
	Now      func() time.Time // the clock

	since time.Time // when the last yield was over, or the wait has begun
	met   int       // yields among others, less those alone
	moved time.Time
	pause time.Duration // after a move without another
}

const (
	// aloneFor is how long a rank polls before it looks who else is there: a
	// yield costs as much as a short operation.
	aloneFor = 3 * time.Microsecond
	// among is how long a yield takes at least in which others have run: two
	// switches. One that finds nobody takes a third of that.
	among = 1200 * time.Nanosecond

	shortPause = 100 * time.Microsecond
	longPause  = 20 * time.Millisecond
)

// Begin starts a wait.
func (a *Alone) Begin() { a.since = a.Now() }

// Wait is called between polls that have found nothing, with the lock that
// guards a; it gives the lock up while others may run.
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

// crowded counts a yield that took d and reports whether it is time to move.
func (a *Alone) crowded(d time.Duration) bool {
	if d < among {
		a.met = max(0, a.met-1)
		return false
	}
	if a.met++; a.met <= a.Patience {
		return false
	}
	a.met = 0
	return true
}

// mayMove bounds how often the thread moves where that does not help, because
// there is no idle core after all.
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
