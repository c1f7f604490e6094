package yield

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func waiter(p *Process, o Options) *Waiter {
	o.Process, o.Now, o.Cores = p, time.Now, 2
	return New(o)
}

func TestSpinsAreFewAmongRanksOfAProcess(t *testing.T) {
	var p Process
	a := waiter(&p, Options{Spin: 500})
	require.False(t, p.Shared())
	require.Equal(t, 500, a.Spins())
	b := waiter(&p, Options{Spin: -1})
	require.True(t, p.Shared())
	require.Equal(t, sharedSpins, a.Spins())
	require.Equal(t, -1, b.Spins())
	b.Close()
	require.Equal(t, 500, a.Spins())
}

func TestHandOverHoldsTheLockInTheEnd(t *testing.T) {
	for _, ranks := range []int{0, 2, 3} {
		var p Process
		var lock sync.Mutex
		w := waiter(&p, Options{Ranks: ranks})
		lock.Lock()
		for idle := 1; idle <= 3*ownPolls; idle++ {
			w.HandOver(idle, &lock, idle%2 == 0)
			require.False(t, lock.TryLock())
		}
	}
}

func TestStayLooksForNoCore(t *testing.T) {
	for _, stay := range []bool{false, true} {
		var p Process
		var lock sync.Mutex
		w := waiter(&p, Options{Ranks: 3, Stay: stay})
		lock.Lock()
		w.HandOver(1, &lock, false)
		require.Equal(t, stay, w.crowd.looked.IsZero())
	}
}

// Ranks that are goroutines of one process, such as the ranks of a simulation in virtual time, have
// no threads to move.
func TestRanksOfAProcessMoveNoThread(t *testing.T) {
	var p Process
	var lock sync.Mutex
	w, other := waiter(&p, Options{Ranks: 3}), waiter(&p, Options{Ranks: 3, Index: 1})
	lock.Lock()
	for idle := range 3 * ownPolls {
		w.HandOver(idle, &lock, false)
	}
	require.True(t, w.crowd.looked.IsZero())
	require.True(t, w.alone.since.IsZero())
	other.Close()
	w.HandOver(1, &lock, false)
	require.False(t, w.crowd.looked.IsZero())
}

// A yield that takes three times as long as one without company shows company.
func TestCompanyIsAMultipleOfAYield(t *testing.T) {
	for _, yield := range []time.Duration{400, 4000} {
		w := waiter(new(Process), Options{Ranks: 2, Yield: yield})
		w.alone.Patience = 0
		require.False(t, w.alone.crowded(2*yield))
		require.True(t, w.alone.crowded(3*yield))
	}
}

func TestStayBearsAnyCompany(t *testing.T) {
	for _, stay := range []bool{false, true} {
		now, step := time.Now(), time.Duration(0)
		a := Alone{Among: among, Stay: stay, Now: func() time.Time { now = now.Add(step); return now }}
		a.Begin()
		step = aloneFor // every yield takes as long as a yield with others
		var lock sync.Mutex
		lock.Lock()
		for range 10 {
			a.Wait(&lock)
		}
		require.Equal(t, stay, a.moved.IsZero())
	}
}

// A polling goroutine lets another goroutine have the lock that both need, even with GOMAXPROCS=1.
func TestHandOverToGoroutines(t *testing.T) {
	var p Process
	var lock sync.Mutex
	w := waiter(&p, Options{Ranks: 2})
	lock.Lock()
	done := false
	go func() {
		lock.Lock()
		defer lock.Unlock()
		done = true
	}()
	for idle := 1; !done; idle++ {
		w.HandOver(idle, &lock, true)
	}
}
