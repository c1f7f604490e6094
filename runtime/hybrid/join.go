package hybrid

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/internal/transport/datagram"
	"github.com/schedgen/schedgen/internal/transport/ibv"
	"github.com/schedgen/schedgen/internal/transport/rdma"
	"github.com/schedgen/schedgen/internal/transport/reactor"
	"github.com/schedgen/schedgen/internal/transport/segment"
	"github.com/schedgen/schedgen/internal/transport/stream"
	"github.com/schedgen/schedgen/runtime/wire"
)

// attachTime, plus attachEach for each rank of the host, limits how long the host's ranks, which
// have all come, take to share memory.
const (
	attachTime = 10 * time.Second
	attachEach = 100 * time.Millisecond
)

var errAttach = errors.New("a rank of this host has not attached to its memory")

// Join builds the communicator as [tcp.Join] does. It returns when all ranks have come and the
// ranks of every host share memory. If the ranks of a host cannot, they use the network, and
// [Transport.Reason] says why.
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	if cfg.TCP.Listener != nil && !cfg.TCP.Share {
		defer cfg.TCP.Listener.Close()
	}
	t, err := join(ctx, &cfg)
	if err != nil {
		return nil, fmt.Errorf("hybrid: %w", err)
	}
	return t, nil
}

func join(ctx context.Context, cfg *Config) (*Transport, error) {
	if err := cfg.check(); err != nil {
		stream.Tell(ctx, stream.Config{Options: stream.Options(cfg.TCP), Transport: "hybrid"}, err)
		return nil, err
	}
	t := &Transport{rank: cfg.TCP.Rank, size: cfg.TCP.Size, clock: clock.OrSystem(cfg.TCP.Clock), self: newSelf(cfg.Host)}
	t.sink.t, t.first.t = t, t
	c := stream.Config{Options: stream.Options(cfg.TCP), Transport: "hybrid", Blob: t.self.encode()}
	if cfg.Mcast != nil {
		c.Transport = "hybrid with multicast"
	}
	if cfg.Verbs != nil {
		c.Transport = "hybrid with verbs"
	}
	c.Prepare = func(ctx context.Context, puts *stream.Transport, m *meet.Meeting) error {
		return t.prepare(ctx, puts.Reactor(), m)
	}
	c.Release = func() { _ = t.self.close() } // nothing is lost
	err := t.connect(ctx, cfg, c)
	if err == nil {
		err = t.leaveNetwork()
	}
	if err = errors.Join(err, t.self.forget()); err != nil {
		return nil, errors.Join(err, t.Close(false, 0))
	}
	return t, nil
}

// network is a transport between hosts.
type network interface {
	wire.Transport
	Reactor() *reactor.Reactor
}

// connect joins all ranks over the network.
func (t *Transport) connect(ctx context.Context, cfg *Config, puts stream.Config) (err error) {
	var net network
	switch m, v := cfg.Mcast, cfg.Verbs; {
	case m != nil:
		net, err = datagram.Join(ctx, datagram.Config{
			TCP:       puts,
			Interface: m.Interface, Family: m.Family, MTU: m.MTU, Hops: m.Hops, Group: m.Group, Heard: m.Heard, Groups: m.Groups, Loss: m.Loss, Seed: m.Seed,
		})
	case v != nil:
		net, err = rdma.Join(ctx, rdma.Config{
			TCP: puts, Loss: v.Loss, Seed: v.Seed,
			Open: func(layout func(rdma.Address) rdma.Layout) (rdma.Adapter, error) {
				port, err := ibv.Named(v.Device, v.Address)
				if err != nil {
					return nil, err
				}
				return ibv.Open(port, layout)
			},
		})
	default:
		net, err = stream.Join(ctx, puts)
	}
	if err == nil {
		t.net = net
	}
	return err
}

// prepare is called when all ranks have arrived.
func (t *Transport) prepare(ctx context.Context, r *reactor.Reactor, m *meet.Meeting) error {
	cards, err := decodeCards(m.Blobs)
	if err != nil {
		return err
	}
	t.id, t.location = m.ID, locate(cards, t.rank)
	if t.location.ranks == nil {
		return nil
	}
	patience := attachTime + time.Duration(len(t.location.ranks))*attachEach
	ctx, cancel := clock.WithTimeoutCause(ctx, t.clock, patience, errAttach)
	defer cancel()
	for _, r := range t.location.ranks {
		fd, err := openBell(&cards[r])
		if err != nil {
			return err
		}
		t.bells = append(t.bells, fd)
	}
	if err := t.attach(ctx, &cards[t.location.ranks[0]]); err != nil || t.alone() {
		return err
	}
	t.watch = r.Descriptor(t.self.bell[0], reactor.Func(func(bool, bool) { t.self.drain() }))
	return t.watch.Modify(true, false)
}

// attach maps the memory of the host's lowest rank.
func (t *Transport) attach(ctx context.Context, lowest *card) (err error) {
	own, size := t.location.local[t.rank], len(t.location.ranks)
	f := t.self.memory
	if own == 0 {
		err = segment.Complete(f, size)
	} else if f, err = openSegment(ctx, lowest, t.clock); err == nil {
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	if err != nil {
		return err
	}
	near, err := segment.Join(ctx, segment.Config{Options: segment.Options{Rank: own, Size: size, File: f, Clock: t.clock}, Kick: t.kick})
	if err == nil {
		t.near, t.first.near = near, near.First()
	}
	return err
}

// alone reports whether all ranks share the memory of this host.
func (t *Transport) alone() bool { return len(t.location.ranks) == t.size }

// leaveNetwork closes the network if all ranks share memory.
func (t *Transport) leaveNetwork() error {
	if !t.alone() {
		return nil
	}
	err := t.net.Close(true, 0)
	t.net = nil
	return err
}
