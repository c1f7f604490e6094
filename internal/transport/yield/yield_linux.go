package yield

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func process() { unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// move makes the system run the calling thread on another of its allowed cores.
func move() {
	core, all, ok := where()
	if !ok {
		return
	}
	others := all
	others.Clear(core)
	visit(&others, &all)
}

// Core gives the core away once.
func Core() { process() }

// Two returns a function that moves the calling thread to one of the first two of its allowed cores,
// 0 or 1, and a function that allows all of them again. If it has no choice, it stays where it is. The
// caller has locked the thread.
func Two() (visit func(which int), restore func()) {
	_, all, ok := where()
	if !ok {
		return func(int) {}, func() {}
	}
	var sets [2]unix.CPUSet
	sets[0].Set(nth(&all, 0))
	sets[1].Set(nth(&all, 1))
	return func(which int) { affinity(unix.SYS_SCHED_SETAFFINITY, 0, &sets[which]) },
		func() { affinity(unix.SYS_SCHED_SETAFFINITY, 0, &all) }
}

// goHome makes the system run the calling thread on the allowed core that number selects, and
// reports whether it was elsewhere.
func goHome(number int) bool {
	core, all, ok := where()
	if !ok {
		return false
	}
	home := nth(&all, number%all.Count())
	if home == core {
		return false
	}
	var own unix.CPUSet
	own.Set(home)
	visit(&own, &all)
	return true
}

// where returns the core that the thread runs on and all its allowed cores. ok is false if it has
// no choice.
func where() (core int, all unix.CPUSet, ok bool) {
	var at uint32
	if _, _, err := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&at)), 0, 0); err != 0 {
		return 0, all, false
	}
	err := affinity(unix.SYS_SCHED_GETAFFINITY, 0, &all)
	return int(at), all, err == 0 && all.Count() > 1
}

// visit moves the calling thread to one of the cores of there. It then allows all cores again; a
// busy thread stays where it is.
func visit(there, all *unix.CPUSet) {
	// Use the thread's number, since the goroutine may move to another thread in between.
	thread, _, _ := unix.RawSyscall(unix.SYS_GETTID, 0, 0, 0)
	if affinity(unix.SYS_SCHED_SETAFFINITY, thread, there) == 0 {
		affinity(unix.SYS_SCHED_SETAFFINITY, thread, all) // as before
	}
}

// nth returns core number n of all, from 0.
func nth(all *unix.CPUSet, n int) int {
	for core := 0; ; core++ {
		if all.IsSet(core) {
			if n == 0 {
				return core
			}
			n--
		}
	}
}

func affinity(call, thread uintptr, set *unix.CPUSet) unix.Errno {
	_, _, err := unix.RawSyscall(call, thread, unsafe.Sizeof(*set), uintptr(unsafe.Pointer(set)))
	return err
}
