// Package verbs is the transport over InfiniBand and RoCE: network adapters that move
// memory by themselves. What is put goes over a reliable queue pair for each pair of
// ranks that puts something, what is multicast over an unreliable one a rank, which on RoCE is in an IPv4
// group, and on InfiniBand in one that the subnet manager makes.
//
// It needs libibverbs and librdmacm, and so cgo: a program is built with it by the tag verbs,
//
//	go build -tags verbs …
//
// where Debian's libibverbs-dev and librdmacm-dev are installed. Without the tag all of this is there, but
// Join fails with [ErrNotBuilt]. Packages rdma and ibv, which are internal, say how it
// works; docs/verbs.md tells how to run it, with hardware and without.
package verbs

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/runtime/internal/rdma"
	"github.com/schedgen/schedgen/runtime/internal/stream"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/verbs/internal/ibv"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Config says how a rank finds the others, and which port it sends by.
type Config struct {
	// TCP is how the ranks meet, connect, and notice deaths. Nothing that is sent goes over it. Key and
	// Encrypt are refused: what an adapter moves is not sealed.
	TCP tcp.Config

	// Device names the adapter, as ibv_devices or rdma link do, and perhaps, behind a
	// colon, the number of its port, which else is 1: mlx5_0, mlx5_0:2. Empty means the
	// first one whose port 1 is active.
	Device string
	// Address is the IPv4 address, of those of the port's network interface, that a RoCE
	// port is known by; without it the first.
	Address netip.Addr

	managed bool // see [ibv.Config]

	// Loss is the probability with which this rank drops a datagram that it has
	// received, drawn from a generator seeded by Seed and the rank.
	Loss float64
	Seed uint64
}

// MaxSize is the largest number of ranks.
const MaxSize = rdma.MaxSize

// Why a rank cannot join, or is lost.
var (
	ErrNotBuilt = errors.New("this program is built without verbs (go build -tags verbs, with cgo and Debian's libibverbs-dev and librdmacm-dev)")
	ErrNoDevice = ibv.ErrNoDevice // none at all
	ErrDevice   = ibv.ErrDevice   // none of that name
	ErrPort     = ibv.ErrPort     // the device has no such port
	ErrInactive = ibv.ErrInactive // the port is down
	ErrAddress  = ibv.ErrAddress  // the port has no such address
	ErrLocked   = ibv.ErrLocked   // a limit on locked memory
	ErrQueue    = ibv.ErrQueue    // a queue pair is in error: the peer is gone, or out of reach
	ErrLinks    = rdma.ErrLinks   // ranks on InfiniBand and on Ethernet
	ErrKey      = rdma.ErrKey     // Key or Encrypt
)

// Transport is one rank's end of a communicator.
type Transport struct {
	wire.Transport
	wire.Taker
	wire.Opener
	wire.Groups
	group rdma.Group
}

// Join builds the communicator as [tcp.Join] does. A rank connects with another when a schedule is
// to put something there, or something is put. The group is chosen at random by rank 0.
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	t, err := rdma.Join(ctx, rdma.Config{
		Options: stream.Options(cfg.TCP), Loss: cfg.Loss, Seed: cfg.Seed,
		Open: func(layout func(rdma.Address) rdma.Layout) (rdma.Adapter, error) { return open(&cfg, layout) },
	})
	if err != nil {
		return nil, err
	}
	return &Transport{t, t, t, t, t.Group()}, nil
}

// port is what cfg says of the port.
func (c *Config) port() (p ibv.Config, err error) {
	name, number, found := strings.Cut(c.Device, ":")
	p = ibv.Config{Device: name, Port: 1}
	if found {
		if p.Port, err = strconv.Atoi(number); err != nil || p.Port < 1 || p.Port > 255 {
			return p, fmt.Errorf("%w: %q is not NAME or NAME:PORT, such as mlx5_0:1", ErrPort, c.Device)
		}
	}
	if c.Address.IsValid() {
		p.GID = c.Address.As16()
	}
	p.Managed = c.managed
	return p, nil
}

// Group returns the group in which all ranks are, on RoCE an IPv4 address.
func (t *Transport) Group() netip.Addr { return netip.AddrFrom16(t.group).Unmap() }
