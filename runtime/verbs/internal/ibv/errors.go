// Package ibv opens a port of a network adapter with libibverbs, and implements the adapter of
// package rdma. Most of it is C, and without the build tag verbs it has no adapter.
package ibv

import "errors"

// Problems with an adapter.
var (
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
