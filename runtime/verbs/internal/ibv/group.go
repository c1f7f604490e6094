//go:build verbs && linux && cgo

package ibv

/*
#cgo LDFLAGS: -lrdmacm
#include "ibv.h"
*/
import "C"

import (
	"bytes"
	"fmt"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/internal/rdma"
)

// joinTime bounds how long the connection manager, and the subnet manager that it asks, may take.
const joinTime = 30 * time.Second

// managedMTU is what the packets of a group that is made so may have on InfiniBand: it takes after
// the group of IP's broadcasts, which has that unless somebody has changed it.
const managedMTU = 2048

// Attach implements [rdma.Adapter]. On Ethernet a group is joined twice: by the queue pair, which
// takes what the interface lets in, and by the system, so that it does, and that switches know.
func (p *port) Attach(group rdma.Group, key uint32) error {
	var to *C.union_ibv_gid
	if group != (rdma.Group{}) {
		to = (*C.union_ibv_gid)(unsafe.Pointer(&group))
		if err := p.join(group); err != nil {
			return fmt.Errorf("join group %x: %w", group, err)
		}
	}
	if p.c.member != nil && !p.ethernet() {
		key = uint32(p.c.managed_key) // all members of a group have one, which its maker chooses
	}
	if errno := C.sg_attach(p.c, to, C.uint32_t(key)); errno != 0 {
		return fmt.Errorf("attach to group %x: %w", group, syscall.Errno(errno))
	}
	return nil
}

// join has the system join a group: by a socket, or by the connection manager.
func (p *port) join(group rdma.Group) (err error) {
	if p.ethernet() && !p.managed {
		if p.joined, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		m := unix.IPMreqn{Multiaddr: [4]byte(group[12:]), Ifindex: int32(p.c.gid.ndev_ifindex)}
		return unix.SetsockoptIPMreqn(p.joined, unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP, &m)
	}
	local := p.ipv4()
	if local == nil {
		return ErrAddress
	}
	errno := C.sg_join(p.c, (*C.uint8_t)(unsafe.Pointer(&local[0])), (*C.union_ibv_gid)(unsafe.Pointer(&group)), C.int(joinTime.Milliseconds()))
	if errno != 0 {
		return fmt.Errorf("connection manager: %w", syscall.Errno(errno))
	}
	return nil
}

func (p *port) ethernet() bool { return p.c.attr.link_layer == C.IBV_LINK_LAYER_ETHERNET }

// multicasts reports whether the port can join groups: on InfiniBand only where its network interface
// has an IPv4 address.
func (p *port) multicasts() bool { return p.ethernet() || p.ipv4() != nil }

// ipv4 returns the IPv4 address that the port is known by, nil if it has none.
func (p *port) ipv4() net.IP {
	gid := *(*[16]byte)(unsafe.Pointer(&p.c.gid.gid))
	if p.ethernet() {
		return net.IP(gid[12:])
	}
	list, _ := net.Interfaces() // where they cannot be had there is none
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
