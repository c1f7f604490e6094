package netpoll

import (
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A thread that enters a blocking system call gives up its place among the GOMAXPROCS running ones.
// Getting it back wakes the Go scheduler's monitor and other threads. If the next event is some
// microseconds away, that costs several times the wait itself, most of all with more processes than
// cores. So Wait begins with a nap: the same system call, without telling the scheduler. The kernel
// may run other processes meanwhile, and this process keeps its place. Therefore a nap is short,
// leaves at least one place to other goroutines, and ends at the signal by which Go preempts.

const napMillis = 1

// napping counts the naps under way. GOMAXPROCS applies to the whole process.
var napping atomic.Int32

// mayNap counts another nap if it leaves a place free, and reports whether it has.
func (p *Poller) mayNap() bool {
	if napping.Add(1) < p.procs {
		return true
	}
	napping.Add(-1)
	return false
}

// procs returns GOMAXPROCS. Asking takes a lock of the scheduler.
func procs() int32 { return int32(goruntime.GOMAXPROCS(0)) }

// nap is collect for at most napMillis, without telling the scheduler.
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
	return p.collectRaw(dst, &raw, msec)
}

// collectRaw is collect without telling the scheduler.
func (p *Poller) collectRaw(dst []Event, raw *rawEvents, msec int) (n int, woken bool, err error) {
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
