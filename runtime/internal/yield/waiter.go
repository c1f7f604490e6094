package yield

import (
	goruntime "runtime"
	"sync"
	"time"
)

// Options say how a rank waits.
type Options struct {
	Process *Process
	Now     func() time.Time // the clock that yields are timed with
	Index   int              // the rank's number
	Ranks   int              // on this host; 0: unknown
	Cores   int
	Spin    int  // polls in vain before the rank parks
	Stay    bool // the caller's thread is never moved to another core
}

// Waiter is what a rank does between polls that find nothing. One goroutine at a
// time uses it.
type Waiter struct {
	process *Process
	spin    int
	stay    bool
	crowded bool  // more ranks than cores on this host
	crowd   Crowd // waits if so
	alone   Alone // waits if not
}

// New returns the waiter of one more rank of o.Process, until Close.
func New(o Options) *Waiter {
	o.Process.ranks.Add(1)
	return &Waiter{
		process: o.Process, spin: o.Spin, stay: o.Stay, crowded: o.Ranks > o.Cores,
		crowd: Crowd{Index: o.Index, Now: o.Now},
		alone: Alone{Patience: 2 + 4*(o.Index%o.Cores), Stay: o.Stay, Now: o.Now},
	}
}

// Close tells that the rank waits no more.
func (w *Waiter) Close() { w.process.ranks.Add(-1) }

const (
	// ownPolls is after how many polls in vain a rank with a core of its own lets
	// go of the lock, and of the core.
	ownPolls = 8
	// sharedSpins is how many polls in vain are worth it among goroutines: handing
	// over to one that is ready costs less than a poll.
	sharedSpins = 8
)

// Spins returns how many polls in vain are worth it before the rank parks.
func (w *Waiter) Spins() int {
	if w.process.Shared() {
		return min(w.spin, sharedSpins)
	}
	return w.spin
}

// Crowded reports whether others need the core that the rank waits on.
func (w *Waiter) Crowded() bool { return w.crowded || w.process.Shared() }

// HandOver lets others run after the poll number idle, from 1, that has found
// nothing. It is called with the lock that guards w, and gives it up meanwhile.
// company says that other goroutines poll for the same rank.
func (w *Waiter) HandOver(idle int, lock sync.Locker, company bool) {
	switch {
	case company:
		lock.Unlock()
		goruntime.Gosched()
		lock.Lock()
	case w.Crowded():
		w.lookAround()
		lock.Unlock()
		w.process.Yield()
		lock.Lock()
	case idle == ownPolls:
		w.alone.Begin()
	case idle%ownPolls == 0:
		w.alone.Wait(lock)
	}
}

// Yield lets others run that need the core that the rank waits on. It is called with the lock that guards w, and keeps it.
func (w *Waiter) Yield() {
	w.lookAround()
	w.process.Yield()
}

func (w *Waiter) lookAround() {
	if !w.stay && !w.process.Shared() { // threads are nobody's among goroutines
		w.crowd.Look()
	}
}
