package yield

import (
	goruntime "runtime"
	"sync"
	"time"
)

// Options say how a rank waits.
type Options struct {
	Process *Process
	Now     func() time.Time // clock that times yields
	Yield   time.Duration    // what a yield takes if nobody else needs the core
	Index   int              // the rank's number
	Ranks   int              // ranks on this host; 0: unknown
	Cores   int
	Spin    int  // polls without result before the rank parks
	Stay    bool // the caller's thread never moves to another core
}

// Waiter waits between polls without result. One goroutine at a time uses it.
type Waiter struct {
	process *Process
	spin    int
	stay    bool
	crowded bool  // more ranks than cores on this host
	crowd   Crowd // waits if crowded
	alone   Alone // waits if not crowded
}

// New returns the waiter of one more rank of o.Process. Close ends it.
func New(o Options) *Waiter {
	o.Process.ranks.Add(1)
	return &Waiter{
		process: o.Process, spin: o.Spin, stay: o.Stay, crowded: o.Ranks > o.Cores,
		crowd: Crowd{Index: o.Index, Now: o.Now},
		alone: Alone{Patience: 2 + 4*(o.Index%o.Cores), Among: switches * o.Yield, Stay: o.Stay, Now: o.Now},
	}
}

// Close says that the rank waits no more.
func (w *Waiter) Close() { w.process.ranks.Add(-1) }

const (
	// switches is how many times as long a yield takes during which others run, at least: two switches
	// between threads. It takes 3 times as long on an Intel Xeon, and 4.9 times on an AMD EPYC.
	switches = 3
	// ownPolls is the number of polls without result after which a rank with its own core releases
	// the lock and the core.
	ownPolls = 8
	// sharedSpins is how many polls without result pay among goroutines: handing over to a ready
	// goroutine costs less than a poll.
	sharedSpins = 8
)

// Spins returns how many polls without result a rank makes before it parks.
func (w *Waiter) Spins() int {
	if w.process.Shared() {
		return min(w.spin, sharedSpins)
	}
	return w.spin
}

// Crowded reports whether other ranks need the core that the rank waits on.
func (w *Waiter) Crowded() bool { return w.crowded || w.process.Shared() }

// HandOver lets others run after poll number idle, from 1, that has found nothing. The caller holds
// the lock that guards w; HandOver releases it meanwhile. company says that other goroutines poll
// for the same rank.
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

// Yield lets others run that need the core that the rank waits on. The caller holds the lock that
// guards w; Yield keeps it.
func (w *Waiter) Yield() {
	w.lookAround()
	w.process.Yield()
}

func (w *Waiter) lookAround() {
	if !w.stay && !w.process.Shared() { // goroutines have no thread of their own
		w.crowd.Look()
	}
}
