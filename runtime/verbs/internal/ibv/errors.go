// Package ibv opens a port of a network adapter by libibverbs, and does with it what
// package rdma asks for. It is C but for little, and empty without the build tag verbs.
package ibv

import "errors"

// What may be wrong with an adapter.
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
	Device string   // such as mlx5_0; empty for the first that has an active port
	Port   int      // from 1
	GID    [16]byte // by which the port is to be known; zero for the first that will do

	// Managed has the connection manager of RDMA join groups on Ethernet as on
	// InfiniBand. Else a socket does, which takes less of a system.
	Managed bool
}
