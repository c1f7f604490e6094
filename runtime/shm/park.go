//go:build linux

package shm

import (
	goruntime "runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// How often Wait hands the core over before it parks: with more ranks than
// cores that is cheaper than to park and to be woken; with as many cores there
// is nobody who could need this one.
const (
	yieldsCrowded = 20
	yieldsAlone   = 200
)

func yields(ranks int) int {
	if ranks > goruntime.NumCPU() {
		return yieldsCrowded
	}
	return yieldsAlone
}

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

// Wait implements [wire.Transport].
func (t *Transport) Wait(d time.Duration) {
	t.life.RLock()
	defer t.life.RUnlock()
	if t.shut.Load() || d == 0 || atomic.CompareAndSwapUint32(&t.bell.parked, polling, waiting) {
		return // in the last case there may be what was not rung: one more Poll
	}
	for range t.yields {
		if t.due() {
			return
		}
		t.process.Yield()
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
	store32(word, parked)
	if !t.due() {
		limit := unix.NsecToTimespec(d.Nanoseconds())
		// Woken, interrupted, too late or for nothing: all the same to the caller.
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, parked, uintptr(unsafe.Pointer(&limit)), 0, 0)
		t.lapsed.Store(atomic.LoadUint32(word) == parked)
		t.woken.Store(false)
	}
	store32(word, waiting)
}

// unpark wakes who is parked at b.
func unpark(b *bellLine) {
	if atomic.LoadUint32(&b.parked) == parked && atomic.CompareAndSwapUint32(&b.parked, parked, waiting) {
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.parked)), futexWake, 1, 0, 0, 0) // it cannot fail
	}
}

// announce tells rank to that there is something in a ring from this rank, if
// it does not look there by itself.
func (t *Transport) announce(to int) {
	if !t.watches || atomic.LoadUint32(&t.peers[to].bell.parked) != polling {
		t.ring(to)
	}
}

// maxWatched is the largest number of ranks that look at all rings in every
// Poll, which costs them less than the bell costs both sides.
const maxWatched = 8

// glances is how often a Poll looks before it says that there is nothing: to
// hand the core over for what comes at any moment costs much more.
const glances = 8

// stare returns the first that look finds; it also ends with a bit in the bell or
// a notice. Who heeds nobody does not ask for notices each time: that alone
// would make a round trip of a put longer by a twentieth.
func (t *Transport) stare() (set uint64) {
	if len(t.heeded) > 0 {
		return t.stareAtAll()
	}
	for range glances {
		if set := t.look(); set != 0 || atomic.LoadUint64(&t.bell.bits[0]) != 0 {
			return set
		}
	}
	return 0
}

func (t *Transport) stareAtAll() uint64 {
	for range glances {
		if set := t.look(); set != 0 || atomic.LoadUint64(&t.bell.bits[0])|t.noticed(0) != 0 {
			return set
		}
	}
	return 0
}

// look returns the bits of the peers that have something in a ring.
func (t *Transport) look() (set uint64) {
	for rank := range t.peers {
		if p := &t.peers[rank]; rank != t.rank && (p.in[0].waits() || p.in[1].waits() || p.cast.waits() || p.more != nil && p.more.waits()) {
			set |= 1 << rank
		}
	}
	return set
}

// hush has others leave the bell alone again once this rank polls with success.
func (t *Transport) hush() {
	if (t.watches || len(t.heeded) > 0) && atomic.LoadUint32(&t.bell.parked) == waiting {
		atomic.CompareAndSwapUint32(&t.bell.parked, waiting, polling)
	}
}

// ring has rank to look at what there is from this rank.
func (t *Transport) ring(to int) {
	b := t.peers[to].bell
	word, bit := &b.bits[t.rank/64], uint64(1)<<(t.rank%64)
	if atomic.LoadUint64(word)&bit == 0 {
		atomic.OrUint64(word, bit)
	}
	unpark(b)
	if atomic.LoadUint32(&b.parked) == away && atomic.CompareAndSwapUint32(&b.parked, away, waiting) && t.kick != nil {
		t.kick(to)
	}
}

// again has the next Poll look at what peer has.
func (t *Transport) again(peer int) { atomic.OrUint64(&t.bell.bits[peer/64], 1<<(peer%64)) }

// Wake implements [wire.Transport].
func (t *Transport) Wake() {
	t.life.RLock()
	defer t.life.RUnlock()
	if !t.shut.Load() {
		t.woken.Swap(true) // as store32 does
		unpark(t.bell)
	}
}
