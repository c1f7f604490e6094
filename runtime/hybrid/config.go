// Package hybrid is the transport for several hosts with several ranks each. Ranks of one host
// reach each other through shared memory (package shm), ranks of different hosts over the network
// (package tcp, mcast or verbs). Ranks find out when they join which ranks share a host.
//
// Each pair of ranks uses either memory or the network, so frames of a lane stay in order. If all
// ranks are on one host, everything goes through its memory, including multicasts. Otherwise
// multicasts, if any, go over the network to all ranks.
//
// A rank waits in one place, the poller of its sockets. Before it waits, it says so in the shared
// memory. A rank that then puts something for it there writes a byte into a pipe that the poller
// watches. Polling ranks get no such bytes.
//
// # How ranks of a host meet
//
// Every rank publishes, through the coordinator, the identity of its host, its process and two of
// its descriptors: unnamed memory and a pipe. The memory of the lowest rank of a host becomes the
// segment. The other ranks open it, and each other's pipes, through /proc. Nothing has a name in a
// file system, so nothing is left when ranks die, at whatever moment. For this, ranks must run
// under one user and see each other's processes. Ranks that do not, or that have different network
// namespaces, count as ranks of different hosts.
package hybrid

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/verbs"
)

// Config says how a rank finds the other ranks.
type Config struct {
	// TCP is the configuration by which all ranks find each other.
	TCP tcp.Config
	// Mcast, if not nil, says where to multicast between hosts; its TCP and Collect are ignored.
	// Either all ranks set Mcast or none does.
	Mcast *mcast.Config
	// Verbs, if not nil, names the adapter that carries everything between hosts, multicasts too; its
	// TCP is ignored. Either all ranks set Verbs or none does. Only one of Mcast and Verbs is set.
	Verbs *verbs.Config
	// Host names this rank's host, instead of the system. Ranks with the same name must be able to
	// share memory. At most 200 bytes.
	Host string
}

const maxHost = 200

func (c *Config) check() error {
	if len(c.Host) > maxHost {
		return fmt.Errorf("a Host of %d bytes, at most %d are allowed", len(c.Host), maxHost)
	}
	if c.Mcast != nil && c.Verbs != nil {
		return errors.New("either Mcast or Verbs carries multicasts, not both")
	}
	return nil
}
