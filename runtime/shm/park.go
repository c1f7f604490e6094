//go:build linux

package shm

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/internal/yield"
)

// yields is how often Wait hands the core over before it parks: with more
// ranks than cores that is cheaper than to park and to be woken.
const yields = 20

// checkEvery bounds how long Wait parks: then Poll looks whether the peers
// still live.
const checkEvery = 200 * time.Millisecond

// blockedPause bounds it while a multicast waits for slow readers.
const blockedPause = time.Millisecond

// Operations of the system call futex, between processes.
const (
	futexWait = 0
	futexWake = 1
)

// Wait implements [runtime.Transport].
func (t *Transport) Wait(d time.Duration) {
	t.life.RLock()
	defer t.life.RUnlock()
	if t.shut.Load() || d == 0 {
		return
	}
	for range yields {
		if t.due() {
			return
		}
		yield.Rank()
	}
	t.park(t.limit(d))
}

// due reports whether Poll may find something.
func (t *Transport) due() bool {
	if t.woken.Load() {
		t.woken.Store(false)
		return true
	}
	for i := range t.words {
		if atomic.LoadUint64(&t.bell.bits[i]) != 0 {
			return true
		}
	}
	return t.shut.Load()
}

func (t *Transport) limit(d time.Duration) time.Duration {
	most := checkEvery
	if t.blocked.Load() {
		most = blockedPause
	}
	if d < 0 || d > most {
		return most
	}
	return d
}

// park announces that this rank parks before it looks a last time: who rings
// the bell looks at the announcement after that.
func (t *Transport) park(d time.Duration) {
	word := &t.bell.parked
	atomic.StoreUint32(word, 1)
	if !t.due() {
		limit := unix.NsecToTimespec(d.Nanoseconds())
		// Woken, interrupted, too late or for nothing: all the same to the caller.
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, 1, uintptr(unsafe.Pointer(&limit)), 0, 0)
		t.lapsed.Store(atomic.LoadUint32(word) == 1)
		t.woken.Store(false)
	}
	atomic.StoreUint32(word, 0)
}

// unpark wakes who is parked at b.
func unpark(b *bellLine) {
	if atomic.LoadUint32(&b.parked) == 1 && atomic.CompareAndSwapUint32(&b.parked, 1, 0) {
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.parked)), futexWake, 1, 0, 0, 0) // it cannot fail
	}
}

// ring tells rank to that there is something from this rank.
func (t *Transport) ring(to int) {
	b := t.peers[to].bell
	word, bit := &b.bits[t.rank/64], uint64(1)<<(t.rank%64)
	if atomic.LoadUint64(word)&bit == 0 {
		atomic.OrUint64(word, bit)
	}
	unpark(b)
}

// again has the next Poll look at what peer has.
func (t *Transport) again(peer int) { atomic.OrUint64(&t.bell.bits[peer/64], 1<<(peer%64)) }

// Wake implements [runtime.Transport].
func (t *Transport) Wake() {
	t.life.RLock()
	defer t.life.RUnlock()
	if !t.shut.Load() {
		t.woken.Store(true)
		unpark(t.bell)
	}
}
