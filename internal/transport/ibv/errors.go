// Package ibv opens a port of a network adapter with libibverbs, and implements the adapter of
// package rdma. Most of it is C, and without the build tag verbs it has no adapter.
package ibv

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Problems with an adapter.
var (
	ErrNotBuilt = errors.New("this program is built without verbs (go build -tags verbs, with cgo and Debian's libibverbs-dev and librdmacm-dev)")
	ErrNoDevice = errors.New("this system has no RDMA device (a software one: rdma link add rxe0 type rxe netdev eth0)")
	ErrDevice   = errors.New("there is no such RDMA device")
	ErrPort     = errors.New("the device has no such port")
	ErrInactive = errors.New("the port is not active: its cable, or its network interface, is down")
	ErrAddress  = errors.New("the port has no such address (RoCE needs an IPv4 address on its network interface)")
	ErrLocked   = errors.New("memory for the adapter cannot be locked")
	ErrQueue    = errors.New("queue pair in error")
)

// Config says which port to open.
type Config struct {
	Device string   // such as mlx5_0; empty for the first with an active port
	Port   int      // from 1
	GID    [16]byte // by which the port is known; zero for the first suitable one

	// Managed makes the connection manager of RDMA join groups on Ethernet, as on InfiniBand. By
	// default a socket joins them, which requires less of the system.
	Managed bool
}

// Named returns the configuration of a device, such as mlx5_0, or mlx5_0:2 for its port 2. The
// empty name stands for the first device with an active port. address, if valid, is the one by
// which a port of Ethernet is known.
func Named(device string, address netip.Addr) (c Config, err error) {
	name, number, found := strings.Cut(device, ":")
	c = Config{Device: name, Port: 1}
	if found {
		if c.Port, err = strconv.Atoi(number); err != nil || c.Port < 1 || c.Port > 255 {
			return c, fmt.Errorf("%w: %q is not NAME or NAME:PORT, such as mlx5_0:1", ErrPort, device)
		}
	}
	if address.IsValid() {
		c.GID = address.As16()
	}
	return c, nil
}
