package netpoll

import (
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A thread that enters a blocking system call gives its place among the
// GOMAXPROCS running ones up and has to get it back afterwards, which wakes
// the Go scheduler's monitor and other threads. Where the next event is some
// microseconds away that costs several times the wait itself, most of all if
// there are more processes than cores. So a Wait begins with a nap: the same
// system call, without telling the scheduler. The kernel may run other
// processes meanwhile; this one keeps its place, which is why a nap is short,
// why at least one place is always left to the other goroutines, and why the
// signal by which Go preempts ends it.

const napMillis = 1

// napping counts the naps under way: GOMAXPROCS is the whole process's.
var napping atomic.Int32

// mayNap reports whether another nap leaves a place free, and counts it.
func (p *Poller) mayNap() bool {
	if napping.Add(1) < p.procs {
		return true
	}
	napping.Add(-1)
	return false
}

// procs returns how many threads run Go code at once; asking takes a lock of
// the scheduler.
func procs() int32 { return int32(goruntime.GOMAXPROCS(0)) }

// nap is a collect of at most napMillis that does not tell the scheduler.
func (p *Poller) nap(dst []Event, d time.Duration) (n int, woken bool, err error) {
	if !p.mayNap() {
		return 0, false, nil
	}
	defer napping.Add(-1)
	msec := napMillis
	if d >= 0 {
		msec = min(msec, millis(d))
	}
	var raw rawEvents
	return p.look(dst, &raw, msec)
}

// look is a collect that does not tell the scheduler.
func (p *Poller) look(dst []Event, raw *rawEvents, msec int) (n int, woken bool, err error) {
	got, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epfd), uintptr(unsafe.Pointer(&raw[0])),
		uintptr(min(len(dst), MaxBatch)), uintptr(msec), 0, 0)
	switch {
	case errno == unix.EINTR:
		return 0, false, nil
	case errno != 0:
		return 0, false, fmt.Errorf("netpoll: wait: %w", errno)
	}
	n, woken = sort(dst, raw[:got])
	return n, woken, nil
}
