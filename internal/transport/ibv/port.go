//go:build verbs && linux && cgo

package ibv

/*
#include <stdlib.h>
#include "ibv.h"

#cgo noescape sg_exchange
#cgo nocallback sg_exchange
*/
import "C"

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/rdma"
)

// port is an [rdma.Adapter].
type port struct {
	name    string
	c       *C.struct_sg_port // nil: closed
	regions []region
	managed bool        // the connection manager joins groups on Ethernet too
	joined  int         // socket by which the system is in the group; -1: none
	further map[int]int // likewise for further groups, by number: a socket can be in 20 groups only
}

var _ rdma.Adapter = (*port)(nil)

// region is memory with its registration.
type region struct {
	memory []byte
	mr     *C.struct_ibv_mr // nil: not registered
}

// C reads works and writes completions in Go's layout.
const (
	_ = -(unsafe.Sizeof(rdma.Work{}) ^ C.sizeof_struct_sg_work)
	_ = -(unsafe.Sizeof(rdma.Completion{}) ^ C.sizeof_struct_sg_completion)
)

// build creates the unreliable queue pair, and what all queue pairs share.
func (p *port) build(l rdma.Layout) error {
	layout := C.struct_sg_layout{
		size: C.int(l.Size), sends: C.int(l.Sends), receives: C.int(l.Receives), gram_sends: C.int(l.GramSends), gram_receives: C.int(l.GramReceives),
	}
	if errno := C.sg_create(p.c, &layout); errno != 0 {
		return fmt.Errorf("make a queue pair: %w", p.lockedOr(syscall.Errno(errno), 0))
	}
	return nil
}

// Allocate maps memory and registers it.
func (p *port) Allocate(n int) (r rdma.Region, err error) {
	memory, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return r, fmt.Errorf("device %s: map %d bytes: %w", p.name, n, err)
	}
	mr, err := C.sg_register(p.c, unsafe.Pointer(&memory[0]), C.size_t(n))
	p.regions = append(p.regions, region{memory, mr})
	if mr == nil {
		errno, _ := err.(syscall.Errno)
		return r, fmt.Errorf("device %s: register memory: %w", p.name, p.lockedOr(errno, n))
	}
	base := uint64(uintptr(unsafe.Pointer(&memory[0])))
	return rdma.Region{Memory: memory, Base: base, Local: uint32(mr.lkey), Remote: uint32(mr.rkey)}, nil
}

// Open creates the queue pair for a rank.
func (p *port) Open(rank int) (number uint32, err error) {
	if errno := C.sg_pair(p.c, C.int(rank)); errno != 0 {
		return 0, fmt.Errorf("device %s: %w", p.name, p.lockedOr(syscall.Errno(errno), 0))
	}
	return uint32(p.pair(rank).qp_num), nil
}

// lockedOr adds to an error for lack of memory the limit and how many bytes would be registered
// with bytes more.
func (p *port) lockedOr(errno syscall.Errno, bytes int) error {
	var limit unix.Rlimit
	if errno != syscall.ENOMEM || unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) != nil {
		return errno
	}
	for _, r := range p.regions {
		if r.mr != nil {
			bytes += len(r.memory)
		}
	}
	if limit.Cur == unix.RLIM_INFINITY {
		return fmt.Errorf("%w: %d bytes: %w", ErrLocked, bytes, errno)
	}
	return fmt.Errorf("%w: %d bytes, where RLIMIT_MEMLOCK is %d (ulimit -l): %w", ErrLocked, bytes, limit.Cur, errno)
}

func (p *port) Gram() uint32 { return uint32(p.c.gram.qp_num) }
func (p *port) Inline() int  { return int(p.c.inlined) }
func (p *port) FD() int      { return int(p.c.channel.fd) }

func (p *port) pair(rank int) *C.struct_ibv_qp {
	return unsafe.Slice(p.c.pairs, int(p.c.size))[rank]
}

func (p *port) Address() rdma.Address {
	a := rdma.Address{
		GID: *(*[16]byte)(unsafe.Pointer(&p.c.gid.gid)), LID: uint16(p.c.attr.lid),
		MTU: 128 << p.c.attr.active_mtu, Ethernet: p.ethernet(), Multicasts: p.multicasts(),
	}
	if !a.Ethernet && a.Multicasts {
		a.MTU = min(a.MTU, managedMTU)
	}
	return a
}

// address converts a to C.
func address(a *rdma.Address) *C.struct_sg_address {
	c := &C.struct_sg_address{lid: C.uint16_t(a.LID)}
	*(*[16]byte)(unsafe.Pointer(&c.gid)) = a.GID
	for mtu := a.MTU; mtu > 128; mtu >>= 1 {
		c.mtu++
	}
	return c
}

func (p *port) Connect(rank int, to rdma.Address, number uint32) error {
	if errno := C.sg_connect(p.c, C.int(rank), address(&to), C.uint32_t(number)); errno != 0 {
		return fmt.Errorf("connect a queue pair: %w", syscall.Errno(errno))
	}
	return nil
}

func (p *port) Reach(rank int, to rdma.Address, gram uint32) error {
	if errno := C.sg_reach(p.c, C.int(rank), address(&to), C.uint32_t(gram)); errno != 0 {
		return fmt.Errorf("make an address handle: %w", syscall.Errno(errno))
	}
	return nil
}

func (p *port) Disconnect(rank int) { C.sg_disconnect(p.c, C.int(rank)) }

var errTake = errors.New("the completion queue has failed")

// Exchange implements [rdma.Adapter] in one call of C.
func (p *port) Exchange(works []rdma.Work, found []rdma.Completion) (posted, done int, failed, err error) {
	var e C.struct_sg_exchanged
	errno := C.sg_exchange(p.c, (*C.struct_sg_work)(unsafe.Pointer(unsafe.SliceData(works))), C.int(len(works)),
		(*C.struct_sg_completion)(unsafe.Pointer(unsafe.SliceData(found))), C.int(len(found)), &e)
	if e.err != 0 {
		failed = syscall.Errno(e.err)
	}
	if errno != 0 {
		err = errTake
	}
	return int(e.posted), int(e.done), failed, err
}

func (p *port) Arm() error {
	if errno := C.sg_arm(p.c); errno != 0 {
		return fmt.Errorf("ask for a completion: %w", syscall.Errno(errno))
	}
	return nil
}

func (p *port) Drain() error {
	if errno := C.sg_drain(p.c); errno != 0 {
		return fmt.Errorf("take completion events: %w", syscall.Errno(errno))
	}
	return nil
}

func (p *port) Explain(status uint32) error {
	return fmt.Errorf("%w: %s", ErrQueue, C.GoString(C.ibv_wc_status_str(C.enum_ibv_wc_status(status))))
}

func (p *port) Close() error {
	if p.c == nil {
		return nil
	}
	C.sg_close_pairs(p.c)
	var err error
	for _, r := range p.regions {
		if r.mr != nil {
			C.ibv_dereg_mr(r.mr)
		}
		err = errors.Join(err, unix.Munmap(r.memory))
	}
	C.sg_close(p.c)
	C.free(unsafe.Pointer(p.c))
	p.c = nil
	if p.joined >= 0 {
		err = errors.Join(err, unix.Close(p.joined))
	}
	for _, fd := range p.further {
		err = errors.Join(err, unix.Close(fd))
	}
	return err
}
