// Package verbs is the transport over InfiniBand and RoCE, whose network adapters access memory
// themselves. Puts use a reliable queue pair for each pair of ranks that put something to each
// other. Multicasts use one unreliable queue pair for each rank. On RoCE, the multicast group is an
// IPv4 group; on InfiniBand, the subnet manager creates it.
//
// The package needs libibverbs and librdmacm, and therefore cgo. The build tag verbs includes it in
// a program,
//
//	go build -tags verbs …
//
// if Debian's libibverbs-dev and librdmacm-dev are installed. Without the tag the package compiles,
// but Join fails with [ErrNotBuilt]. The internal packages rdma and ibv describe the
// implementation. docs/verbs.md describes how to run it, with hardware and without.
package verbs

import (
	"context"
	"net/netip"

	"github.com/schedgen/schedgen/internal/transport/ibv"
	"github.com/schedgen/schedgen/internal/transport/rdma"
	"github.com/schedgen/schedgen/internal/transport/stream"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Config says how a rank finds the others, and which port it uses.
type Config struct {
	// TCP says how the ranks meet, connect, and notice deaths. Frames of operations never use it.
	// Join refuses Key and Encrypt, because an adapter cannot encrypt what it moves.
	TCP tcp.Config

	// Device is the name of the adapter as ibv_devices or rdma link show it, such as mlx5_0,
	// optionally with the number of the port: mlx5_0:2. The default port is 1. Empty selects the
	// first adapter whose port 1 is active.
	Device string
	// Address selects the IPv4 address of the port's network interface by which a RoCE port is
	// known. By default this is the first one.
	Address netip.Addr

	managed bool // see [ibv.Config]

	// Loss is the probability with which this rank drops a received datagram, for tests. The random
	// numbers depend on Seed and the rank.
	Loss float64
	Seed uint64
}

// MaxSize is the greatest number of ranks.
const MaxSize = rdma.MaxSize

// Reasons why a rank cannot join, or is lost.
var (
	ErrNotBuilt = ibv.ErrNotBuilt
	ErrNoDevice = ibv.ErrNoDevice // the system has no device
	ErrDevice   = ibv.ErrDevice   // there is no device of that name
	ErrPort     = ibv.ErrPort     // the device has no such port
	ErrInactive = ibv.ErrInactive // the port is down
	ErrAddress  = ibv.ErrAddress  // the port has no such address
	ErrLocked   = ibv.ErrLocked   // the limit on locked memory is too low
	ErrQueue    = ibv.ErrQueue    // a queue pair is in error: the peer is gone, or unreachable
	ErrLinks    = rdma.ErrLinks   // some ranks use InfiniBand and others Ethernet
	ErrKey      = rdma.ErrKey     // Key or Encrypt is set
)

// Transport is one rank's end of a communicator.
type Transport struct {
	wire.Transport
	wire.Taker
	wire.Opener
	wire.Groups
	group rdma.Group
}

// Join builds the communicator as [tcp.Join] does. A rank connects to another when a schedule will
// put something to it, or when something is put. Rank 0 draws the group at random.
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	t, err := rdma.Join(ctx, rdma.Config{
		TCP: stream.Config{Options: stream.Options(cfg.TCP)}, Loss: cfg.Loss, Seed: cfg.Seed,
		Open: func(layout func(rdma.Address) rdma.Layout) (rdma.Adapter, error) {
			p, err := cfg.port()
			if err != nil {
				return nil, err
			}
			return ibv.Open(p, layout)
		},
	})
	if err != nil {
		return nil, err
	}
	return &Transport{t, t, t, t, t.Group()}, nil
}

// Check returns an error if no port can be opened for cfg.
func Check(cfg Config) error {
	p, err := cfg.port()
	if err != nil {
		return err
	}
	return ibv.Check(p)
}

// port returns the port that cfg selects.
func (c *Config) port() (ibv.Config, error) {
	p, err := ibv.Named(c.Device, c.Address)
	p.Managed = c.managed
	return p, err
}

// Group returns the group of all ranks; on RoCE it is an IPv4 address.
func (t *Transport) Group() netip.Addr { return netip.AddrFrom16(t.group).Unmap() }
