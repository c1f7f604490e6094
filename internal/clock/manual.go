package clock

import (
	"slices"
	"sync"
	"time"
)

// Manual is a time that passes only by Advance, for tests. The zero value is ready to use and
// begins in 1970, so that none of its times is zero.
type Manual struct {
	mu     sync.Mutex
	passed time.Duration
	timers []*manualTimer // running timers, the earliest first
}

type manualTimer struct {
	m  *Manual
	at time.Duration
	f  func()
}

// Now returns the current time.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Unix(0, 0).Add(m.passed)
}

// AfterFunc makes Advance call f when d has passed.
func (m *Manual) AfterFunc(d time.Duration, f func()) Timer {
	t := &manualTimer{m: m, f: f}
	t.Reset(d)
	return t
}

// Advance lets d pass. It runs the timers that are due by then in the order of their times,
// including timers that these calls start, and returns after the last call.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for end := m.passed + d; ; {
		if len(m.timers) == 0 || m.timers[0].at > end {
			m.passed = end
			return
		}
		t := m.timers[0]
		m.timers = m.timers[1:]
		m.passed = max(m.passed, t.at)
		m.mu.Unlock()
		done := make(chan struct{})
		go func() { defer close(done); t.f() }()
		<-done
		m.mu.Lock()
	}
}

// Stop cancels the call; it reports false if the call is no longer pending.
func (t *manualTimer) Stop() bool {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	return t.stop()
}

func (t *manualTimer) stop() bool {
	i := slices.Index(t.m.timers, t)
	if i >= 0 {
		t.m.timers = slices.Delete(t.m.timers, i, i+1)
	}
	return i >= 0
}

// Reset schedules the call after d from now; it reports whether the call was still pending.
func (t *manualTimer) Reset(d time.Duration) bool {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	waited := t.stop()
	t.at = t.m.passed + d
	i := len(t.m.timers)
	for i > 0 && t.m.timers[i-1].at > t.at {
		i--
	}
	t.m.timers = slices.Insert(t.m.timers, i, t)
	return waited
}
