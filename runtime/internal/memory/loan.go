//go:build linux

package memory

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/wire"
)

// What is lent is copied out of the memory of another process by the system
// (process_vm_readv). It lets who might as well trace that process: of the same user, unless
// a rule of the system says otherwise (Yama's ptrace_scope, a filter of a container). So every
// rank tries it when it joins, with a number that all processes keep at an address that they tell.

// loan is what a rank knows of that.
type loan struct {
	refused error // why this rank cannot collect what others lend; nil: it can
	failed  error // why it could not, though it should have been able to

	local  [2]unix.Iovec // scratch
	remote [2]unix.RemoteIovec
	proof  uint64
}

// proof is the number of this process.
var proof = sync.OnceValue(func() *uint64 {
	p := new(uint64)
	var b [8]byte
	_, _ = rand.Read(b[:]) // it does not fail
	*p = binary.LittleEndian.Uint64(b[:])
	return p
})

// The states of loanLine.can.
const (
	untold = iota
	able
	unable
)

// loanLine tells of a rank, and of its process, what others need who lend to it or whose
// chunks it collects.
type loanLine struct {
	address uint64 // of the proof
	proof   uint64
	can     uint32 // collect what others lend
	_       [lineSize - 20]byte
}

// show tells the others of this process, before it has joined.
func (s segment) show(rank int) {
	l, p := s.loanLine(rank), proof()
	l.address, l.proof = uint64(uintptr(unsafe.Pointer(p))), *p
}

// tryLoans finds out whether this rank can collect what the others lend, and tells them.
func (t *Transport) tryLoans() {
	can := uint32(able)
	for rank := range t.peers {
		p, l := &t.peers[rank], t.loanLine(rank)
		if rank == t.rank || int(p.pid) == os.Getpid() {
			continue
		}
		if err := t.readFrom(p, l.address, make([]byte, 8)); err != nil {
			t.shelf.loan.refused = fmt.Errorf("rank %d: %w", rank, err)
			can = unable
			break
		}
	}
	store32(&t.loanLine(t.rank).can, can)
}

var errStranger = errors.New("another process has its number here: process namespaces differ, or it has ended")

// Copies implements [wire.Copier].
func (t *Transport) Copies() (n int, why error) {
	switch {
	case t.size < 2:
		return 0, nil
	case t.shelf.loan.refused != nil:
		return 2, fmt.Errorf("shm: %w", t.shelf.loan.refused)
	}
	return 1, nil
}

// mayLend reports whether all of to can collect what is lent.
func (t *Transport) mayLend(to []int) bool {
	for _, rank := range to {
		if !t.shelf.lender[rank] && atomic.LoadUint32(&t.loanLine(rank).can) != able {
			return false
		}
		t.shelf.lender[rank] = true
	}
	return true
}

// fetch copies from an address of p's process, and reports whether it could, and it was that.
func (t *Transport) fetch(p *peer, address uint64, dst []byte) bool {
	err := t.readFrom(p, address, dst)
	switch {
	case err == nil:
		return true
	case errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EFAULT) || errors.Is(err, errStranger):
		return false // it has ended, or takes it back
	}
	if t.shelf.loan.failed == nil {
		t.shelf.loan.failed = fmt.Errorf("shm: read %d bytes of rank %d: %w", len(dst), p.rank, err)
		t.again(t.rank)
	}
	return false
}

// briefly is how many bytes are read at a time without telling the Go scheduler, which would take
// the thread's place for Go code away meanwhile, and wake another one: some 50 µs.
const briefly = 1 << 20

// readFrom fills dst from an address of p's process, which must have its proof: a process that
// has ended may have left its number to another one.
func (t *Transport) readFrom(p *peer, address uint64, dst []byte) error {
	l, b := t.loanLine(p.rank), &t.shelf.loan
	for {
		part := min(len(dst), briefly)
		b.proof = 0
		b.local = [2]unix.Iovec{{Base: unsafe.SliceData(dst)}, {Base: (*byte)(unsafe.Pointer(&b.proof)), Len: 8}}
		b.local[0].SetLen(part)
		b.remote = [2]unix.RemoteIovec{{Base: uintptr(address), Len: part}, {Base: uintptr(l.address), Len: 8}}
		n, _, e := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(p.pid), uintptr(unsafe.Pointer(&b.local)), 2, uintptr(unsafe.Pointer(&b.remote)), 2, 0)
		b.local = [2]unix.Iovec{} // dst is the caller's
		switch {
		case e == unix.EINTR:
			continue
		case e != 0:
			return fmt.Errorf("process_vm_readv: %w", e)
		case int(n) < part: // a page of it is there no more
			return unix.EFAULT
		case int(n) != part+8 || b.proof != l.proof:
			return errStranger
		}
		if dst, address = dst[part:], address+uint64(part); len(dst) == 0 {
			return nil
		}
	}
}

// refuse tells s that this rank cannot go on since it is refused what it was not before.
func (t *Transport) refuse(s wire.Sink) {
	err := t.shelf.loan.failed
	t.shelf.loan.failed = nil
	s.Ended(t.rank, wire.Broken, err)
}
