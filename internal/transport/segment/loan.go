//go:build linux

package segment

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
)

// The system copies a lent chunk out of the memory of another process (process_vm_readv). It allows
// this to processes that may trace the other process: processes of the same user, unless a rule of
// the system says otherwise (Yama's ptrace_scope, a container's filter). So every rank tests it
// when it joins, with a number that each process keeps at an address that it publishes.

// loan is a rank's state of lending.
type loan struct {
	refused error // why this rank cannot collect lent chunks; nil: it can

	local  [2]unix.Iovec // scratch
	remote [2]unix.RemoteIovec
	proof  uint64
}

// proof is the number of this process.
var proof = sync.OnceValue(func() *uint64 {
	p := new(uint64)
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	*p = binary.LittleEndian.Uint64(b[:])
	return p
})

// The values of loanLine.can.
const (
	untold = iota
	able
	unable
)

// loanLine is what other ranks need to lend to a rank, or to collect its chunks.
type loanLine struct {
	address uint64 // address of the proof
	proof   uint64
	can     uint32 // whether it can collect lent chunks
	_       [lineSize - 20]byte
}

// show publishes this process, before it has joined.
func (s segment) show(rank int) {
	l, p := s.loanLine(rank), proof()
	l.address, l.proof = uint64(uintptr(unsafe.Pointer(p))), *p
}

// tryLoans tests whether this rank can collect the others' lent chunks, and publishes the result.
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

// mayLend reports whether all ranks in to can collect lent chunks.
func (t *Transport) mayLend(to []int) bool {
	for _, rank := range to {
		if !t.shelf.lender[rank] && atomic.LoadUint32(&t.loanLine(rank).can) != able {
			return false
		}
		t.shelf.lender[rank] = true
	}
	return true
}

// fetch copies from an address of p's process, and reports whether the copy is valid.
func (t *Transport) fetch(p *peer, address uint64, dst []byte) bool {
	err := t.readFrom(p, address, dst)
	switch {
	case err == nil:
		return true
	case errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EFAULT) || errors.Is(err, errStranger):
		return false // it has ended, or is revoking the chunk
	}
	t.fault(fmt.Errorf("read %d bytes of rank %d: %w", len(dst), p.rank, err)) // the system has allowed it before
	return false
}

// briefly is how many bytes are read at a time without telling the Go scheduler, some 50 µs.
// Telling it would give the thread's place away and wake another thread.
const briefly = 1 << 20

// readFrom fills dst from an address of p's process. It checks the proof of that process: the
// number of a process that has ended may belong to another process.
func (t *Transport) readFrom(p *peer, address uint64, dst []byte) error {
	l, b := t.loanLine(p.rank), &t.shelf.loan
	for {
		part := min(len(dst), briefly)
		b.proof = 0
		b.local = [2]unix.Iovec{{Base: unsafe.SliceData(dst)}, {Base: (*byte)(unsafe.Pointer(&b.proof)), Len: 8}}
		b.local[0].SetLen(part)
		b.remote = [2]unix.RemoteIovec{{Base: uintptr(address), Len: part}, {Base: uintptr(l.address), Len: 8}}
		n, _, e := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(p.pid), uintptr(unsafe.Pointer(&b.local)), 2, uintptr(unsafe.Pointer(&b.remote)), 2, 0)
		b.local = [2]unix.Iovec{} // dst belongs to the caller
		switch {
		case e == unix.EINTR:
			continue
		case e != 0:
			return fmt.Errorf("process_vm_readv: %w", e)
		case int(n) < part: // one of its pages is gone
			return unix.EFAULT
		case int(n) != part+8 || b.proof != l.proof:
			return errStranger
		}
		if dst, address = dst[part:], address+uint64(part); len(dst) == 0 {
			return nil
		}
	}
}
