//go:build linux

package memory

import (
	"bytes"
	"os"
	goruntime "runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/clock"
)

// What several ranks collect that is lent, the system copies at each of them. What is multicast goes
// through a ring, which costs a copy more, but ordinary ones. On some machines the system
// copies half as fast or faster, on others at a quarter of the speed: who makes a segment tries which it is,
// and says so in the segment, so that all ranks choose alike.

const (
	paceBytes = 128 << 10 // that are copied, as many as a chunk that is lent has at most
	paceTries = 9         // of which the fastest counts: whatever else there is makes them slower
	// slowLoan is how many times as long as an ordinary copy one by the system takes where rings
	// are faster. It is 1.8 on an Intel Xeon, on which four ranks have 512 KiB in 57 µs where they are
	// lent and in 85 through a ring. On an AMD EPYC they have them in 93 and 38 µs; by what 512 KiB take
	// two ranks, 33 and 16 µs with two copies, it is 4 there.
	slowLoan = 2.5
)

// RingsFaster reports whether on this machine a long chunk that several ranks read goes faster through
// a ring than lent, or cannot be lent. It takes some 100 µs the first time.
var RingsFaster = sync.OnceValue(func() bool {
	src, dst := bytes.Repeat([]byte{1}, paceBytes), make([]byte, paceBytes)
	ordinary, _ := fastest(func() error { copy(dst, src); return nil })
	loan, err := fastest(func() error { return copyBySystem(dst, src) })
	return err != nil || float64(loan) > slowLoan*float64(ordinary)
})

// fastest returns what the fastest of some calls of f took.
func fastest(f func() error) (least time.Duration, err error) {
	for range paceTries {
		start := clock.Monotonic()
		if err := f(); err != nil {
			return 0, err
		}
		if took := clock.Monotonic() - start; least == 0 || took < least {
			least = took
		}
	}
	return least, nil
}

// copyBySystem copies as what is lent is, within this process.
func copyBySystem(dst, src []byte) error {
	local := [1]unix.Iovec{{Base: unsafe.SliceData(dst)}}
	local[0].SetLen(len(dst))
	remote := [1]unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(unsafe.SliceData(src))), Len: len(src)}}
	_, err := unix.ProcessVMReadv(os.Getpid(), local[:], remote[:], 0)
	goruntime.KeepAlive(src)
	return err
}
