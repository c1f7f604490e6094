//go:build verbs && linux && cgo

package ibv

/*
#cgo LDFLAGS: -lrdmacm
#include "ibv.h"
#include <errno.h>
*/
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/rdma"
)

// joinTime bounds how long the connection manager, and the subnet manager that it asks, may take.
const joinTime = 30 * time.Second

// The numbers of further groups, besides the group of all ranks, are below this.
const _ = -(uint(rdma.MostGroups) ^ C.sg_most_groups)

// managedMTU is the greatest payload of a packet in bytes for a group that the connection manager
// creates on InfiniBand. It is the default of the group of IP broadcasts, whose parameters such a
// group copies.
const managedMTU = 2048

// Attach implements [rdma.Adapter]. On Ethernet, two members join a group: the queue pair, which
// receives what the interface lets in; and the system, so that the interface lets it in and
// switches know.
func (p *port) Attach(group rdma.Group, key uint32) error {
	var to *C.union_ibv_gid
	if group != (rdma.Group{}) {
		to = (*C.union_ibv_gid)(unsafe.Pointer(&group))
		if err := p.join(group); err != nil {
			return fmt.Errorf("join group %x: %w", group, err)
		}
	}
	if p.c.member != nil && !p.ethernet() {
		key = uint32(p.c.managed_key) // all members of a group use one key, which its creator chooses
	}
	if errno := C.sg_attach(p.c, to, C.uint32_t(key)); errno != 0 {
		return fmt.Errorf("attach to group %x: %w", group, syscall.Errno(errno))
	}
	return nil
}

// join makes the system join the group of all ranks, by a socket or by the connection manager.
func (p *port) join(group rdma.Group) (err error) {
	if p.ethernet() && !p.managed {
		p.joined, err = p.socketIn(group)
		return err
	}
	if err := p.joinManaged(&p.c.member, group); err != nil {
		return err
	}
	switch errno := C.sg_joined(p.c, p.c.member, C.int(joinTime.Milliseconds()), &p.c.path, &p.c.managed_key); {
	case errno == C.EAGAIN:
		return fmt.Errorf("connection manager: %w", syscall.ETIMEDOUT)
	case errno != 0:
		return fmt.Errorf("connection manager: %w", syscall.Errno(errno))
	}
	return nil
}

// socketIn returns a socket that is in a group, or -1 and an error.
func (p *port) socketIn(group rdma.Group) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	m := unix.IPMreqn{Multiaddr: [4]byte(group[12:]), Ifindex: int32(p.c.gid.ndev_ifindex)}
	if err := unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP, &m); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// joinManaged makes the connection manager begin to join a group.
func (p *port) joinManaged(m **C.struct_sg_member, group rdma.Group) error {
	local := p.ipv4()
	if local == nil {
		return ErrAddress
	}
	if errno := C.sg_join(p.c, m, (*C.uint8_t)(unsafe.Pointer(&local[0])), (*C.union_ibv_gid)(unsafe.Pointer(&group))); errno != 0 {
		return fmt.Errorf("connection manager: %w", syscall.Errno(errno))
	}
	return nil
}

// errKey: a further group has another key than the first one, but the queue pair has one key for
// all groups.
var errKey = errors.New("the group's key is not that of the first group")

// Join implements [rdma.Adapter].
func (p *port) Join(number int, group rdma.Group) (err error) {
	g := &p.c.further[number]
	*(*rdma.Group)(unsafe.Pointer(&g.gid)) = group
	if !p.ethernet() || p.managed {
		return p.joinManaged(&g.member, group)
	}
	fd, err := p.socketIn(group)
	if err != nil {
		return err
	}
	p.further[number] = fd
	return nil
}

// Joined implements [rdma.Adapter].
func (p *port) Joined(number int) (bool, error) {
	g := &p.c.further[number]
	if g.attached != 0 {
		return true, nil
	}
	if g.member != nil {
		var key C.uint32_t
		switch errno := C.sg_joined(p.c, g.member, 0, &g.path, &key); {
		case errno == C.EAGAIN:
			return false, nil
		case errno != 0:
			return false, fmt.Errorf("connection manager: %w", syscall.Errno(errno))
		case !p.ethernet() && key != p.c.key:
			return false, errKey
		}
	}
	if errno := C.sg_attach_group(p.c, g); errno != 0 {
		return false, fmt.Errorf("attach: %w", syscall.Errno(errno))
	}
	return true, nil
}

// Leave implements [rdma.Adapter].
func (p *port) Leave(number int) {
	C.sg_leave_group(p.c, &p.c.further[number])
	if fd, ok := p.further[number]; ok {
		unix.Close(fd) // a failure here has no consequences
		delete(p.further, number)
	}
}

func (p *port) ethernet() bool { return p.c.attr.link_layer == C.IBV_LINK_LAYER_ETHERNET }

// multicasts reports whether the port can join groups. On InfiniBand, that requires an IPv4 address
// of its network interface.
func (p *port) multicasts() bool { return p.ethernet() || p.ipv4() != nil }

// ipv4 returns the IPv4 address by which the port is known, or nil if it has none.
func (p *port) ipv4() net.IP {
	gid := *(*[16]byte)(unsafe.Pointer(&p.c.gid.gid))
	if p.ethernet() {
		return net.IP(gid[12:])
	}
	list, _ := net.Interfaces() // an error means that there is none
	for _, ifi := range list {
		if len(ifi.HardwareAddr) == 20 && bytes.Equal(ifi.HardwareAddr[4:], gid[:]) {
			return firstIPv4(ifi)
		}
	}
	return nil
}

func firstIPv4(ifi net.Interface) net.IP {
	addrs, _ := ifi.Addrs() // likewise
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			return n.IP.To4()
		}
	}
	return nil
}
