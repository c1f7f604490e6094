//go:build linux

package segment

import (
	"sync/atomic"
	"time"
)

// Away announces that this rank is about to wait elsewhere, for this transport and others. A rank
// that then has something for it calls Config.Kick once. Away returns false if Poll may find
// something. Otherwise the caller waits, at most for limit, which is at most d, and then calls
// Back. Away and Back replace Wait.
func (t *Transport) Away(d time.Duration) (limit time.Duration, ok bool) {
	t.park.life.RLock()
	word := &t.park.bell.parked
	if !t.park.shut.Load() && !atomic.CompareAndSwapUint32(word, polling, waiting) {
		// In the second case there may be something without a ring: one more Poll.
		store32(word, away)
		if !t.due() {
			return t.limit(d), true
		}
		store32(word, waiting)
	}
	t.park.life.RUnlock()
	return 0, false
}

// Back ends the wait that Away has announced.
func (t *Transport) Back() {
	word := &t.park.bell.parked
	t.park.lapsed.Store(atomic.LoadUint32(word) == away)
	store32(word, waiting)
	t.park.life.RUnlock()
}
