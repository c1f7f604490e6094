package pace

import (
	"errors"
	"io/fs"
	"math"
	"os"
	goruntime "runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/transport/store"
	"github.com/schedgen/schedgen/internal/transport/yield"
	"github.com/schedgen/schedgen/runtime/wire"
)

const (
	length = 128 << 10 // bytes to copy, as many as the longest lent chunk
	tries  = 9         // at most
	least  = 3         // tries of a measurement that counts
	few    = 16        // calls and yields that are timed together
	many   = 32        // cache lines that are read one after another
	// enough is when no further try begins. A try takes some 100 µs, unless another process has one
	// of the cores.
	enough = 4 * time.Millisecond
)

// measure measures all costs but Cores.
func measure() (wire.Pace, error) { return onTwo(measureBy) }

// line measures Line alone, which takes some 100 µs on cores that nobody else needs.
func line() uint32 {
	p, _ := onTwo(func(now func() time.Duration, between func(core int)) (wire.Pace, error) {
		m := meter{now: now}
		for range least {
			m.read(between)
		}
		return wire.Pace{Line: m.line.whole()}, nil
	})
	return p.Line
}

// onTwo measures on a thread that can move between two cores.
func onTwo(by func(now func() time.Duration, between func(core int)) (wire.Pace, error)) (wire.Pace, error) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	between, restore := yield.Two()
	defer restore()
	return by(clock.Monotonic, between)
}

var errBusy = errors.New("it is too busy to be measured")

// measureBy measures by a clock. between moves the thread to the core of the sender, 0, or of the
// receiver, 1.
func measureBy(now func() time.Duration, between func(core int)) (wire.Pace, error) {
	m := meter{now: now}
	src, ring, dst := make([]byte, length), make([]byte, length), make([]byte, length)
	for _, b := range [][]byte{src, ring, dst} {
		fill(b, 1) // the memory is there from the start
	}
	sums, values := make([]float64, length/8), make([]float64, length/8)
	begun := now()
	for try := range tries {
		if try > 0 && now()-begun > enough {
			if try < least {
				return wire.Pace{}, errBusy
			}
			break
		}
		between(0)
		fill(src, byte(try+1))
		in := m.time(func() { store.Copy(ring, src) })
		between(1)
		m.ring.least(in + m.time(func() { copy(dst, ring) }))
		between(0)
		fill(src, byte(try+2)) // no longer in the receiver's cache
		between(1)
		m.pull.least(m.time(func() { m.fail(pull(dst, src)) }))
		m.fold.least(m.time(func() { add(sums, values) }))
		m.read(between)
		m.call.least(m.time(func() {
			for range few {
				m.fail(pull(dst[:8], src[:8]))
			}
		}) / few)
		m.yield.least(m.time(func() {
			for range few {
				yield.Core()
			}
		}) / few)
	}
	m.pull = max(m.pull-m.call, 1) // what a call takes without bytes counts by itself
	p := wire.Pace{
		Ring: m.ring.perByte(), Pull: m.pull.perByte(), Call: m.call.whole(),
		Line: m.line.whole(), Fold: m.fold.perByte(), Yield: m.yield.whole()}
	if errors.Is(m.failed, errors.ErrUnsupported) || errors.Is(m.failed, fs.ErrPermission) {
		p.Pull, m.failed = wire.MaxPace, nil // the system refuses, so rings are faster
	}
	return p, m.failed
}

// add does what the kernel of a sum does. Package fold would make every program that meets by shared
// memory carry the kernels of all types.
func add(sums, values []float64) {
	values = values[:len(sums)]
	for i := range sums {
		sums[i] += values[i]
	}
}

// meter times what is measured.
type meter struct {
	now                                 func() time.Duration
	ring, pull, call, line, fold, yield cost
	failed                              error
	lines                               [many]cacheLine
	last                                uint32 // so that the lines are read
}

// cacheLine is as long as two lines, since some processors fetch lines in pairs.
type cacheLine struct {
	next uint32
	_    [124]byte
}

// read times how a rank reads lines that a rank on another core has written. Each line says which one
// is next, so that no two of them are on their way at a time.
func (m *meter) read(between func(core int)) {
	between(0)
	for i := range m.lines {
		m.lines[i].next = uint32((5*i + 7) % many) // all in turn, in no order that a processor foresees
	}
	between(1)
	at := uint32(0)
	m.line.least(m.time(func() {
		for range many {
			at = m.lines[at%many].next
		}
	}) / many)
	m.last = at
}

func (m *meter) time(f func()) time.Duration {
	start := m.now()
	f()
	return m.now() - start
}

func (m *meter) fail(err error) {
	if m.failed == nil {
		m.failed = err
	}
}

// cost is the least time so far; 0: none.
type cost time.Duration

func (c *cost) least(took time.Duration) {
	if *c == 0 || took < time.Duration(*c) {
		*c = cost(max(took, 1))
	}
}

func (c cost) perByte() uint32 { return bounded(float64(c) * 1000 / length) }

func (c cost) whole() uint32 { return bounded(float64(c)) }

func bounded(v float64) uint32 { return uint32(min(max(math.Round(v), 1), wire.MaxPace)) }

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// pull copies within this process as the system copies out of another one's memory.
func pull(dst, src []byte) error {
	local := [1]unix.Iovec{{Base: unsafe.SliceData(dst)}}
	local[0].SetLen(len(dst))
	remote := [1]unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(unsafe.SliceData(src))), Len: len(src)}}
	_, err := unix.ProcessVMReadv(os.Getpid(), local[:], remote[:], 0)
	goruntime.KeepAlive(src)
	return err
}

var errOthers = errors.New("others may write there")

// ownOnly returns an error unless only this user may write to a file or directory.
func ownOnly(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 || !info.IsDir() && !info.Mode().IsRegular() {
		return errOthers
	}
	return nil
}
