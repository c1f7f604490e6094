package yield

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func process() { unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// move has the system put the calling thread on another of the cores that it
// may run on. When it returns, the thread may run on all of them again: a
// thread that is busy stays where it is.
func move() {
	// By its number: the goroutine may go on on another thread in between.
	thread, _, _ := unix.RawSyscall(unix.SYS_GETTID, 0, 0, 0)
	var core uint32
	var all unix.CPUSet
	if _, _, err := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&core)), 0, 0); err != 0 {
		return
	}
	if affinity(unix.SYS_SCHED_GETAFFINITY, thread, &all) != 0 || all.Count() < 2 {
		return
	}
	others := all
	others.Clear(int(core))
	if affinity(unix.SYS_SCHED_SETAFFINITY, thread, &others) == 0 {
		affinity(unix.SYS_SCHED_SETAFFINITY, thread, &all) // as it was a moment ago
	}
}

func affinity(call, thread uintptr, set *unix.CPUSet) unix.Errno {
	_, _, err := unix.RawSyscall(call, thread, unsafe.Sizeof(*set), uintptr(unsafe.Pointer(set)))
	return err
}
