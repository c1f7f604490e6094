// Package mcast is the transport that multicasts chunks as UDP datagrams, over IPv4 or IPv6, and
// puts over TCP. Datagrams are unreliable: any rank may miss any of them. Datagrams that do not
// belong to the communicator, or were changed on the way, are counted and dropped.
//
// The first communicator multicasts to one group. Each further communicator has a group and a
// socket of its own, as long as the system has room for them (Config.Groups).
package mcast

import (
	"context"
	"net/netip"
	"time"

	"github.com/schedgen/schedgen/internal/transport/datagram"
	"github.com/schedgen/schedgen/internal/transport/stream"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// SealBytes is how many bytes tcp.Config.Key takes from the payload of a datagram.
const SealBytes = datagram.SealBytes

// Config says how a rank finds the other ranks, as in package tcp, and where it multicasts.
type Config struct {
	// TCP is the transport for puts.
	TCP tcp.Config

	// Interface is the name of the interface to multicast on. Empty means the loopback interface if
	// the coordinator is there, and else the interface with the address at which this rank is
	// reached.
	Interface string
	// Family is 4 or 6, the same for all ranks. 0 means 4 if the interface has an IPv4 address, and
	// else 6.
	Family int
	// MTU, in bytes, replaces the interface's MTU; 0 means the interface's.
	MTU int
	// Hops limits how far datagrams go; 0 means 1, the local network.
	Hops int
	// Group is the group and port that rank 0 chooses, of the same family as the interface's
	// address; the zero value means a random one. Other ranks ignore it.
	Group netip.AddrPort
	// Heard is how long every rank may wait, before Join returns, for a multicast of its own and a
	// multicast of rank 0: a network may forward no multicasts although all ranks can send and
	// join. 0 means that no rank waits for rank 0's multicast.
	Heard time.Duration

	// Collect is how long arriving datagrams collect before a waiting rank reads them, rounded up
	// to a millisecond; 0: the rank wakes for each datagram. Collecting saves most of the core time
	// of long broadcasts on slow links, and delays each broadcast by as much.
	Collect time.Duration

	// Groups is how many groups this rank joins at a time for further communicators, besides the
	// group of all ranks: switches know few groups, some only a few hundred. 0: as many as the
	// system allows; negative: none. If a member of a communicator joins no group, the communicator
	// multicasts to all ranks.
	Groups int

	// Loss is the probability with which this rank drops a received datagram, drawn from a
	// generator seeded by Seed and the rank.
	Loss float64
	Seed uint64 // see Loss
}

// Transport is one rank's end of a communicator.
type Transport struct {
	wire.Transport
	wire.Taker
	wire.Flusher
	wire.Groups
	group netip.AddrPort
	ifi   string
}

// Join builds the communicator as [tcp.Join] does. Rank 0 chooses the group at random. Join returns
// when all ranks have joined the group and have seen that multicast works on their interfaces.
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	t, err := datagram.Join(ctx, datagram.Config{
		TCP:       stream.Config{Options: stream.Options(cfg.TCP)},
		Interface: cfg.Interface, Family: cfg.Family, MTU: cfg.MTU, Hops: cfg.Hops, Group: cfg.Group, Heard: cfg.Heard, Collect: cfg.Collect, Groups: cfg.Groups, Loss: cfg.Loss, Seed: cfg.Seed,
	})
	if err != nil {
		return nil, err
	}
	return &Transport{t, t, t, t, t.Group(), t.Interface()}, nil
}

// Group returns the multicast address of the first communicator.
func (t *Transport) Group() netip.AddrPort { return t.group }

// Interface returns the name of the interface for multicasts.
func (t *Transport) Interface() string { return t.ifi }
