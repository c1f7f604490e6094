package cast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/schedgen/schedgen/internal/meet/lobby"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// These are the ways in which data reach the hosts.
const (
	Auto      = "auto"  // Multicast if there are several hosts and it works at all of them, and else Chain
	Multicast = "mcast" // UDP multicast; lost parts come by TCP
	Chain     = "tcp"   // TCP, along a chain of the hosts
)

// WayOf returns the word for a transport in messages.
func WayOf(transport string) string {
	if transport == Multicast {
		return "multicast"
	}
	return "chain"
}

// Link says how the hosts of a cast reach each other.
type Link struct {
	Transport string // Auto, Multicast or Chain; "" means Auto
	Interface string // network interface of multicasts; "" means the interface of the sender's address
	Hops      int    // routers that multicasts may pass, plus 1; 0 means 1; receivers take the sender's
	// Group is the group of the sender's multicasts. The zero value means a random group in each
	// round.
	Group netip.AddrPort
	// Key, if not empty, is a secret of tcp.MinKey to tcp.MaxKey bytes that sender and receivers
	// prove to each other. Everything is then encrypted.
	Key []byte
}

func (l *Link) lobby() lobby.Config { return lobby.Config{Key: l.Key, Encrypt: len(l.Key) > 0} }

// multicasts returns the reason why this host cannot multicast where others reach it at an address,
// or nil if it can.
func (l *Link) multicasts(ctx context.Context, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	t, err := mcast.Join(ctx, mcast.Config{
		TCP:       tcp.Config{Size: 1, Coordinator: net.JoinHostPort(host, "0"), Key: l.Key, Encrypt: len(l.Key) > 0},
		Interface: l.Interface, Hops: l.Hops, Group: l.Group, Heard: heardTime,
	})
	if err != nil {
		return err
	}
	return t.Close(true, 0)
}

const (
	// meetTime is the longest time that the hosts of a round take to connect with each other.
	meetTime = time.Minute
	// heardTime is the time within which every host hears a multicast of the sender, where multicast
	// works.
	heardTime = time.Second
	// collectTime is how long datagrams may collect at a host that waits. A piece takes longer on
	// any link up to 8 Gbit/s.
	collectTime = time.Millisecond
)

// algorithms are the algorithms of the broadcasts, by transport. Multicast does not use
// bcast/mcast-chain: where packets are lost, its pieces along the chain would hold up the others.
var algorithms = map[string]string{Chain: "bcast/chain", Multicast: "bcast/mcast-acktree"}

// spins are the numbers of empty polls before a host sleeps, by transport. With TCP there are none:
// the processor has hashes to compute, and the data are worth a wake-up. With multicast there are a
// few, in which the host yields the processor. If hosts share processors, datagrams for all of them
// come meanwhile.
var spins = map[string]int{Chain: -1, Multicast: 32}

// join connects a host at place p with the others, over the transport in the sender's note.
func (l *Link) join(ctx context.Context, note roundNote, p *lobby.Place, cfg tcp.Config) (*runtime.Comm, error) {
	cfg.Rank, cfg.Size, cfg.Job, cfg.Key, cfg.Encrypt = p.Rank, p.Size, p.Job, l.Key, len(l.Key) > 0
	ctx, cancel := context.WithTimeoutCause(ctx, meetTime, fmt.Errorf("not connected after %v", meetTime))
	defer cancel()
	t, err := l.transport(ctx, note, cfg)
	if err != nil {
		return nil, err
	}
	return runtime.New(ctx, runtime.Config{
		Transport: t, Catalog: schedule.Broadcasts(), Algorithms: runtime.Algorithms{"bcast": {Name: algorithms[note.Transport]}}, Silence: note.Silence,
		Waiting: runtime.Waiting{Spin: spins[note.Transport]},
	})
}

func (l *Link) transport(ctx context.Context, note roundNote, cfg tcp.Config) (wire.Transport, error) {
	switch note.Transport {
	case Chain:
		t, err := tcp.Join(ctx, cfg)
		if err != nil {
			return nil, err // not an interface that holds a nil *tcp.Transport
		}
		return t, nil
	case Multicast:
		t, err := mcast.Join(ctx, mcast.Config{TCP: cfg, Interface: l.Interface, Hops: note.Hops, Group: l.Group, Heard: heardTime, Collect: collectTime})
		if err != nil {
			return nil, err
		}
		return t, nil
	}
	return nil, fmt.Errorf("no transport %q", note.Transport)
}

// HostName returns the name of this host in the sender's result, if no other is given.
func HostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "unnamed"
	}
	return cmp.Or(name[:min(len(name), lobby.MaxName)], "unnamed")
}

// withCause adds the cause of ctx to err, unless err already says it.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
