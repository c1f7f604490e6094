//go:build linux

package segment

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/yield"
)

// How often Wait hands the core over before it parks. With more ranks than cores, that is cheaper
// than to park and be woken. Otherwise no other rank needs this core.
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

// blockedPause is the greatest time that Wait parks while a multicast waits for slow readers.
const blockedPause = time.Millisecond

// Operations of the system call futex, between processes.
const (
	futexWait = 0
	futexWake = 1
)

// park is the state of waiting and waking.
type park struct {
	bell    *bellLine
	words   int // of the bell
	kick    func(rank int)
	watches bool // Poll looks at all rings; the bell is for ranks that do not poll
	yields  int  // number of yields in Wait
	process *yield.Process

	woken  atomic.Bool
	lapsed atomic.Bool  // the last Wait ended without a wake-up
	shut   atomic.Bool  // closed, for Wait and Wake
	life   sync.RWMutex // held while using the bell without the communicator's lock
}

// Wait implements [wire.Transport].
func (t *Transport) Wait(d time.Duration) {
	t.park.life.RLock()
	defer t.park.life.RUnlock()
	if t.park.shut.Load() || d == 0 || atomic.CompareAndSwapUint32(&t.park.bell.parked, polling, waiting) {
		return // in the last case there may be something without a ring: one more Poll
	}
	for range t.park.yields {
		if t.due() {
			return
		}
		t.park.process.Yield()
	}
	t.sleep(t.limit(d))
}

// due reports whether Poll may find something.
func (t *Transport) due() bool {
	if t.park.woken.Load() {
		t.park.woken.Store(false)
		return true
	}
	for i := range t.park.words {
		if atomic.LoadUint64(&t.park.bell.bits[i]) != 0 {
			return true
		}
	}
	return t.park.shut.Load()
}

// limit returns how long this rank may park if it shall wait for d.
func (t *Transport) limit(d time.Duration) time.Duration {
	switch {
	case t.blocked.Load() && (d < 0 || d > blockedPause):
		return blockedPause
	case !t.watch.told && (d < 0 || d > checkEvery):
		return checkEvery
	}
	return d
}

// sleep announces that this rank parks before it looks a last time: a rank that rings the bell
// checks the announcement afterwards.
func (t *Transport) sleep(d time.Duration) {
	word := &t.park.bell.parked
	store32(word, parked)
	if !t.due() {
		var limit *unix.Timespec
		if d >= 0 {
			t := unix.NsecToTimespec(d.Nanoseconds())
			limit = &t
		}
		// Woken, interrupted, timed out or spurious: it makes no difference to the caller.
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, parked, uintptr(unsafe.Pointer(limit)), 0, 0)
		t.park.lapsed.Store(atomic.LoadUint32(word) == parked)
		t.park.woken.Store(false)
	}
	store32(word, waiting)
}

// unpark wakes the rank that is parked at b.
func unpark(b *bellLine) {
	if atomic.LoadUint32(&b.parked) == parked && atomic.CompareAndSwapUint32(&b.parked, parked, waiting) {
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.parked)), futexWake, 1, 0, 0, 0) // cannot fail
	}
}

// announce tells another rank that a ring has something from this rank, unless that rank looks
// there anyway.
func (t *Transport) announce(to int) {
	if !t.park.watches || atomic.LoadUint32(&t.peers[to].bell.parked) != polling {
		t.ring(to)
	}
}

// maxWatched is the greatest number of ranks for which looking at all rings in every Poll costs
// less than the bell costs both sides.
const maxWatched = 8

// glances is how often a Poll looks before it reports that there is nothing: handing the core over
// just before an arrival costs much more.
const glances = 8

// stare returns the first result of look that is not 0. A bit in the bell also ends it.
func (t *Transport) stare() (set uint64) {
	for range glances {
		if set := t.filledRings(); set != 0 || atomic.LoadUint64(&t.park.bell.bits[0]) != 0 {
			return set
		}
	}
	return 0
}

// filledRings returns the bits of the peers with something in a ring.
func (t *Transport) filledRings() (set uint64) {
	for rank := range t.peers {
		if p := &t.peers[rank]; rank != t.rank && (p.in[0].waits() || p.in[1].waits() || p.cast.waits()) {
			set |= 1 << rank
		}
	}
	if t.listens {
		set |= t.lookFurther()
	}
	return set
}

// hush tells others not to ring any more, when this rank polls successfully again.
func (t *Transport) hush() {
	if atomic.LoadUint32(&t.park.bell.parked) == waiting {
		atomic.CompareAndSwapUint32(&t.park.bell.parked, waiting, polling)
	}
}

// ring makes another rank look for something from this rank.
func (t *Transport) ring(to int) {
	b := t.peers[to].bell
	word, bit := &b.bits[t.rank/64], uint64(1)<<(t.rank%64)
	if atomic.LoadUint64(word)&bit == 0 {
		atomic.OrUint64(word, bit)
	}
	unpark(b)
	if atomic.LoadUint32(&b.parked) == away && atomic.CompareAndSwapUint32(&b.parked, away, waiting) && t.park.kick != nil {
		t.park.kick(to)
	}
}

// again makes the next Poll look at peer's rings.
func (t *Transport) again(peer int) { atomic.OrUint64(&t.park.bell.bits[peer/64], 1<<(peer%64)) }

// Wake implements [wire.Transport].
func (t *Transport) Wake() {
	t.park.life.RLock()
	defer t.park.life.RUnlock()
	if !t.park.shut.Load() {
		t.park.woken.Swap(true) // like store32
		unpark(t.park.bell)
	}
}
