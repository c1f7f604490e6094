//go:build verbs && linux && cgo

package ibv

/*
#include <stdlib.h>
#include "ibv.h"

#cgo noescape sg_post
#cgo nocallback sg_post
#cgo noescape sg_poll
#cgo nocallback sg_poll
*/
import "C"

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/internal/rdma"
)

// port is an [rdma.Adapter].
type port struct {
	name   string
	c      *C.struct_sg_port // nil: closed
	memory []byte
	joined int // socket by which the system is in the group; -1: none
}

var _ rdma.Adapter = (*port)(nil)

// C reads works and writes completions where Go has them.
const (
	_ = -(unsafe.Sizeof(rdma.Work{}) ^ C.sizeof_struct_sg_work)
	_ = -(unsafe.Sizeof(rdma.Completion{}) ^ C.sizeof_struct_sg_completion)
)

// build makes the queue pairs and registers memory.
func (p *port) build(l rdma.Layout) error {
	layout := C.struct_sg_layout{
		rank: C.int(l.Rank), size: C.int(l.Size), sends: C.int(l.Sends), receives: C.int(l.Receives),
		gram_sends: C.int(l.GramSends), gram_receives: C.int(l.GramReceives),
	}
	if errno := C.sg_create(p.c, &layout); errno != 0 {
		return fmt.Errorf("make %d queue pairs: %w", l.Size, lockedOr(syscall.Errno(errno), l.Memory))
	}
	var err error
	if p.memory, err = unix.Mmap(-1, 0, l.Memory, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
		return fmt.Errorf("map %d bytes: %w", l.Memory, err)
	}
	if errno := C.sg_register(p.c, unsafe.Pointer(&p.memory[0]), C.size_t(len(p.memory))); errno != 0 {
		return fmt.Errorf("register memory: %w", lockedOr(syscall.Errno(errno), l.Memory))
	}
	return nil
}

// lockedOr says of a lack of memory what the limit is.
func lockedOr(errno syscall.Errno, bytes int) error {
	var limit unix.Rlimit
	if errno != syscall.ENOMEM || unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) != nil {
		return errno
	}
	if limit.Cur == unix.RLIM_INFINITY {
		return fmt.Errorf("%w: %d bytes: %w", ErrLocked, bytes, errno)
	}
	return fmt.Errorf("%w: %d bytes, where RLIMIT_MEMLOCK is %d (ulimit -l): %w", ErrLocked, bytes, limit.Cur, errno)
}

func (p *port) Memory() []byte         { return p.memory }
func (p *port) Key() uint32            { return uint32(p.c.mr.rkey) }
func (p *port) Base() uint64           { return uint64(uintptr(unsafe.Pointer(&p.memory[0]))) }
func (p *port) Gram() uint32           { return uint32(p.c.gram.qp_num) }
func (p *port) Inline() int            { return int(p.c.inlined) }
func (p *port) FD() int                { return int(p.c.channel.fd) }
func (p *port) Number(rank int) uint32 { return uint32(p.pair(rank).qp_num) }

func (p *port) pair(rank int) *C.struct_ibv_qp {
	return unsafe.Slice(p.c.pairs, int(p.c.size))[rank]
}

func (p *port) Address() rdma.Address {
	return rdma.Address{
		GID: *(*[16]byte)(unsafe.Pointer(&p.c.gid.gid)), LID: uint16(p.c.attr.lid),
		MTU: 128 << p.c.attr.active_mtu, Ethernet: p.c.attr.link_layer == C.IBV_LINK_LAYER_ETHERNET,
	}
}

// address is what C takes for a.
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

// Attach joins the group twice on Ethernet: the queue pair, which takes what the interface
// lets in, and the system, so that it does, and that switches know.
func (p *port) Attach(group rdma.Group, key uint32) (multicasts bool, err error) {
	if errno := C.sg_attach(p.c, (*C.union_ibv_gid)(unsafe.Pointer(&group)), C.uint32_t(key)); errno != 0 {
		return false, fmt.Errorf("attach to group %x: %w", group, syscall.Errno(errno))
	}
	if !p.Address().Ethernet {
		return false, nil
	}
	if p.joined, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err == nil {
		m := unix.IPMreqn{Multiaddr: [4]byte(group[12:]), Ifindex: int32(p.c.gid.ndev_ifindex)}
		err = unix.SetsockoptIPMreqn(p.joined, unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP, &m)
	}
	if err != nil {
		return false, fmt.Errorf("join group %d.%d.%d.%d: %w", group[12], group[13], group[14], group[15], err)
	}
	return true, nil
}

func (p *port) Disconnect(rank int) { C.sg_disconnect(p.c, C.int(rank)) }

func (p *port) Post(list []rdma.Work) (int, error) {
	var errno C.int
	n := C.sg_post(p.c, (*C.struct_sg_work)(unsafe.Pointer(unsafe.SliceData(list))), C.int(len(list)), &errno)
	if errno != 0 {
		return int(n), syscall.Errno(errno)
	}
	return int(n), nil
}

var errPoll = errors.New("the completion queue is of no use any more")

func (p *port) Poll(list []rdma.Completion) (int, error) {
	n := C.sg_poll(p.c, (*C.struct_sg_completion)(unsafe.Pointer(unsafe.SliceData(list))), C.int(len(list)))
	if n < 0 {
		return 0, errPoll
	}
	return int(n), nil
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
	C.sg_close(p.c)
	C.free(unsafe.Pointer(p.c))
	p.c = nil
	var err error
	if p.joined >= 0 {
		err = unix.Close(p.joined)
	}
	if p.memory != nil {
		err = errors.Join(err, unix.Munmap(p.memory))
	}
	return err
}
