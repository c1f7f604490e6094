// Package mcast is the transport that multicasts chunks as UDP datagrams, over
// IPv4 or IPv6, and puts over TCP. Datagrams are unreliable: any rank may miss
// any of them. What does not belong to the communicator, or is not what its
// sender has sent, is counted and dropped.
//
// The first communicator multicasts to one group. Each that is split off has a group and a socket of its own, as
// long as the system has room for a further one (Config.Groups).
package mcast

import (
	"context"
	"net/netip"
	"time"

	"github.com/schedgen/schedgen/runtime/internal/datagram"
	"github.com/schedgen/schedgen/runtime/internal/stream"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// SealBytes is by how much a datagram's payload is shorter with tcp.Config.Key.
const SealBytes = datagram.SealBytes

// Config says how a rank finds the others, as for package tcp, and where it
// multicasts.
type Config struct {
	// TCP is the transport for puts.
	TCP tcp.Config

	// Interface names the interface to multicast on; empty means the loopback
	// interface if the coordinator is there, and else the one that holds the
	// address this rank is reached at.
	Interface string
	// Family is 4 or 6, for all ranks the same; 0 means 4 if the interface
	// has an IPv4 address, and else 6.
	Family int
	// MTU overrides the interface's MTU; 0 means the interface's.
	MTU int
	// Hops limits how far datagrams go; 0 means 1, the local network.
	Hops int
	// Heard has every rank wait for a multicast of rank 0, and for its own before, so long at most, before Join returns: a network may
	// forward none though all can send and join. 0 means that nobody waits for rank 0's.
	Heard time.Duration

	// Collect is how long datagrams collect, while they come, before a rank that waits reads them; 0: it is woken for each.
	// It is rounded up to a millisecond. It saves most of the time of a core that long broadcasts take on slow links, and delays each by as much.
	Collect time.Duration

	// Groups is how many groups this rank joins at a time for communicators that are split off, beside the
	// one of all ranks: switches know few, some only a few hundred. 0: as many as the system allows; negative:
	// none. A communicator for which a member joins no group multicasts to all ranks.
	Groups int

	// Loss is the probability with which this rank drops a datagram that it
	// has received, drawn from a generator seeded by Seed and the rank.
	Loss float64
	Seed uint64
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

// Join builds the communicator as [tcp.Join] does. The group is chosen at
// random by rank 0. Join returns when all ranks have joined the group and have
// seen that multicast works on their interface.
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	t, err := datagram.Join(ctx, datagram.Config{
		TCP:       stream.Config{Options: stream.Options(cfg.TCP)},
		Interface: cfg.Interface, Family: cfg.Family, MTU: cfg.MTU, Hops: cfg.Hops, Heard: cfg.Heard, Collect: cfg.Collect, Groups: cfg.Groups, Loss: cfg.Loss, Seed: cfg.Seed,
	})
	if err != nil {
		return nil, err
	}
	return &Transport{t, t, t, t, t.Group(), t.Interface()}, nil
}

// Group returns where the datagrams of the first communicator go.
func (t *Transport) Group() netip.AddrPort { return t.group }

// Interface returns the name of the interface that is multicast on.
func (t *Transport) Interface() string { return t.ifi }
