// Package hybrid is the transport for several hosts with several ranks each:
// ranks of one host reach each other through shared memory (package shm), those
// of different hosts over the network (package tcp, or mcast). Which ranks
// share a host they find out when they join.
//
// A pair of ranks uses one of the two, so frames of a lane stay in order. Where
// all ranks are on one host everything goes through its memory, multicasts too;
// else multicasts, if there are any, go over the network to everybody.
//
// A rank waits at one thing, its sockets' poller. Before it does so it says so
// in the shared memory; whoever has something for it there then writes a byte
// into a pipe that the poller watches. Ranks that poll are never written to.
//
// # How ranks of a host meet
//
// Every rank publishes, through the coordinator, the identity of its host, its
// process and two of its descriptors: memory without a name and a pipe. The
// lowest rank of a host makes its memory the segment; the others open that, and
// each other's pipes, through /proc. Nothing has a name in a file system, so
// nothing is left when ranks die, at whatever moment. For this ranks must run
// under one user and see each other's processes; ranks for which that does not
// hold, or whose network namespaces differ, are on different hosts.
package hybrid

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// Config says how a rank finds the others.
type Config struct {
	// TCP is how all ranks find each other.
	TCP tcp.Config
	// Mcast, if not nil, says where to multicast between hosts; its TCP is
	// ignored. All ranks must have it, or none.
	Mcast *mcast.Config
	// Host names this rank's host, in place of what the system says; ranks with
	// the same name must be able to share memory. At most 200 bytes.
	Host string
}

const maxHost = 200

func (c *Config) check() error {
	if len(c.Host) > maxHost {
		return fmt.Errorf("a Host of %d bytes, at most %d are allowed", len(c.Host), maxHost)
	}
	return nil
}
