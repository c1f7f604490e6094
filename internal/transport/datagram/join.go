package datagram

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/internal/transport/fragment"
	"github.com/schedgen/schedgen/internal/transport/reactor"
	"github.com/schedgen/schedgen/internal/transport/seal"
	"github.com/schedgen/schedgen/internal/transport/stream"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Join lets the ranks meet and join a group, and returns the transport.
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	if cfg.TCP.Listener != nil && !cfg.TCP.Share {
		defer cfg.TCP.Listener.Close()
	}
	t, err := join(ctx, &cfg)
	if err != nil {
		return nil, fmt.Errorf("mcast: %w", err)
	}
	return t, nil
}

func join(ctx context.Context, cfg *Config) (*Transport, error) {
	t, own, err := open(cfg)
	if err != nil {
		if t != nil {
			t.release()
		}
		stream.Tell(ctx, cfg.TCP, fmt.Errorf("mcast: %w", err))
		return nil, fmt.Errorf("join as rank %d of %d: %w", cfg.TCP.Rank, cfg.TCP.Size, err)
	}
	t.heard = cfg.Heard
	t.puts, err = stream.Join(ctx, t.publish(cfg.TCP, own))
	if t.silence != nil {
		t.silence()
		t.silence = nil
	}
	if err != nil {
		t.release()
		return nil, err
	}
	return t, nil
}

// open does everything that is possible before the other ranks are known.
func open(cfg *Config) (*Transport, *card, error) {
	if err := cfg.check(); err != nil {
		return nil, nil, err
	}
	coordinator, err := coordinatorOf(cfg)
	if err != nil {
		return nil, nil, err
	}
	at, err := chooseEndpoint(cfg, coordinator)
	if err != nil {
		return nil, nil, err
	}
	mode, err := seal.ModeOf(cfg.TCP.Key, cfg.TCP.Encrypt)
	if err != nil {
		return nil, nil, err
	}
	t := newTransport(cfg, at)
	if mode != seal.Plain {
		t.over += seal.PacketOver
	}
	own := &card{family: at.family}
	mtu := cfg.MTU
	if mtu == 0 {
		mtu = at.ifi.MTU
	}
	if own.payload, err = payloadFor(mtu, at.family, t.over); err != nil {
		return nil, nil, fmt.Errorf("interface %s: %w", at.ifi.Name, err)
	}
	if own.room, err = receiveRoom(at.family); err != nil {
		return nil, nil, err
	}
	if cfg.TCP.Rank == 0 {
		if own.group, err = chooseGroup(cfg, at.family); err != nil {
			return nil, nil, err
		}
	}
	if t.group.fd, own.sender, err = openSender(at, max(1, cfg.Hops)); err != nil {
		return t, own, err
	}
	t.direct.fd, own.direct, err = openDirect(at, max(1, cfg.Hops))
	t.arrival.own.fd = t.direct.fd
	return t, own, err
}

func newTransport(cfg *Config, at *endpoint) *Transport {
	return &Transport{
		rank: cfg.TCP.Rank, size: cfg.TCP.Size, over: fragment.HeadLen, at: at,
		group: outlet{fd: -1, room: littleRoom}, direct: outlet{fd: -1}, groups: groups{limit: cfg.Groups},
		arrival: arrival{
			all: inlet{fd: -1}, own: inlet{fd: -1},
			collect: collect{limit: cfg.Collect},
			loss:    cfg.Loss, random: mathrand.New(mathrand.NewPCG(cfg.Seed, uint64(cfg.TCP.Rank))),
		},
	}
}

func randomOf(cfg *Config) interface{ Read([]byte) (int, error) } {
	if cfg.TCP.Rand != nil {
		return cfg.TCP.Rand
	}
	return rand.Reader
}

// coordinatorOf returns the address that determines the interface.
func coordinatorOf(cfg *Config) (string, error) {
	addr := cfg.TCP.Coordinator
	if addr == "" && cfg.TCP.Listener != nil {
		addr = cfg.TCP.Listener.Addr().String()
	}
	if cfg.Interface != "" || cfg.TCP.Bind != "" {
		return addr, nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("coordinator: %w", err)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		return "", errors.New("rank 0 waits at all its addresses: name the interface to multicast on")
	}
	return addr, nil
}

// prepare is called when all ranks have arrived.
func (t *Transport) prepare(m *meet.Meeting, c clock.Clock) error {
	t.groups.clock = c
	d, err := gather(m.Blobs)
	if err == nil {
		t.sealed, err = newSealed(m.Session)
	}
	if err != nil {
		return err
	}
	t.mark, t.payload, t.room, t.target = fragment.MarkOf(m.ID), d.payload, d.room, d.group
	t.arrival.stashes.Room = d.room
	t.arrival.all.sources, t.arrival.own.sources = d.senders, d.directs
	t.arrival.all.to, t.arrival.own.to = noRank, uint32(t.rank)
	if t.sealed != nil {
		t.arrival.all.windows, t.arrival.own.windows = make([]seal.Window, t.size), make([]seal.Window, t.size)
	}
	for _, a := range d.directs {
		t.names = append(t.names, newAddress(a, t.at.ifi.Index))
	}
	if t.arrival.all.fd, err = openReceiver(t.at, d.group); err != nil {
		return err
	}
	if err := unix.Connect(t.group.fd, sockaddr(d.group, t.at.ifi)); err != nil {
		return fmt.Errorf("multicast to %v on interface %s%s: %w", d.group, t.at.ifi.Name, hint(t.at), os.NewSyscallError("connect", err))
	}
	if err := selfTest(t.group.fd, t.arrival.all.fd, t.at, t.probe, cmp.Or(t.heard, probeTime), c); err != nil || t.heard == 0 || t.size == 1 {
		return err
	}
	if t.rank == 0 {
		t.silence = t.call(c)
		return nil
	}
	return t.hear(t.heard, c)
}

// watch makes the buffers and lets r watch the sockets.
func (t *Transport) watch(r *reactor.Reactor) error {
	bytes := t.payload + t.over
	size := min(maxBurst, max(minBatch, batchBytes/bytes))
	t.group.batch, t.direct.batch = newOutBatch(size, bytes), newOutBatch(minBatch, bytes)
	t.group.batch.cutBy(t.group.fd)
	t.direct.batch.cutBy(t.direct.fd)
	merges := merge(t.arrival.all.fd)
	t.arrival.merges = merge(t.arrival.own.fd) || merges
	t.arrival.batch = newInBatch(size, bytes, t.arrival.merges)
	if t.sealed != nil {
		t.group.batch.makeWhole(bytes)
		t.direct.batch.makeWhole(bytes)
	}
	t.group.watch = r.Descriptor(t.group.fd, reactor.Func(func(_, _ bool) { t.block(&t.group, false) }))
	t.arrival.watch = r.Descriptor(t.arrival.all.fd, reactor.Func(func(_, _ bool) { t.arrival.all.readable = true }))
	t.arrival.watch.Eager()
	t.direct.reading = true
	t.direct.watch = r.Descriptor(t.direct.fd, reactor.Func(func(read, write bool) {
		t.arrival.own.readable = t.arrival.own.readable || read
		if write {
			t.block(&t.direct, false)
		}
	}))
	return errors.Join(t.arrival.watch.Modify(true, false), t.direct.watch.Modify(true, false))
}

// probe returns an empty datagram to the group of all ranks.
func (t *Transport) probe() []byte { return t.probeTo(everybody) }

// probeTo returns a probe sealed for destination to.
func (t *Transport) probeTo(to int) []byte {
	h := wire.Header{Kind: fragment.KindProbe}
	if t.sealed != nil {
		return t.seal(nil, &h, to, 0, 0, nil)
	}
	var b [fragment.HeadLen]byte
	fragment.Encode(&b, &t.mark, &h, t.rank, 0, 0, nil)
	return b[:]
}
