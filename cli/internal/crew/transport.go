package crew

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/schedgen/schedgen/internal/transport"
	"github.com/schedgen/schedgen/runtime/hybrid"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/verbs"
	"github.com/schedgen/schedgen/runtime/wire"
)

// The transports between ranks.
const (
	Mem    = "mem"
	TCP    = "tcp"
	Mcast  = "mcast"
	Shm    = "shm"
	Hybrid = "hybrid"
	Verbs  = "verbs"
)

// OpenTransport connects a rank that is a process with the others.
func OpenTransport(ctx context.Context, j *Job) (t wire.Transport, err error) {
	cfg := tcp.Config{Rank: j.Rank, Size: j.Params.Ranks, Job: j.Link.Job, Coordinator: j.Link.Coordinator, Log: j.Log}
	if j.Link.Transport != Shm {
		if cfg.Listener, err = j.listener(ctx); err != nil {
			return nil, err
		}
		return j.Link.Open(ctx, cfg)
	}
	f := os.NewFile(uintptr(j.SegmentFD), "segment")
	if f == nil {
		return nil, errors.New("no shared memory was inherited")
	}
	t, err = transport.Open(ctx, Shm, transport.Config{TCP: cfg, Segment: f})
	if e := f.Close(); e != nil && err == nil { // the memory stays mapped
		return nil, errors.Join(e, t.Close(false, 0))
	}
	return t, err
}

// Open connects a rank with the others, which meet as cfg says. It prints a line if the ranks of
// this host cannot share memory.
func (l *Link) Open(ctx context.Context, cfg tcp.Config) (wire.Transport, error) {
	cfg.Key, cfg.Encrypt = l.Key, l.Encrypt
	to := transport.Config{TCP: cfg, Verbs: verbs.Config{Device: l.Device, Loss: l.Loss, Seed: l.Seed}}
	if l.Multicasts() {
		m := l.mcast(tcp.Config{})
		to.Mcast = &m
	}
	t, err := transport.Open(ctx, l.Transport, to)
	if h, ok := t.(*hybrid.Transport); ok && h.Reason() != "" {
		fmt.Fprintf(os.Stderr, "no shared memory on this host: %s\n", h.Reason())
	}
	return t, err
}

// CanShare reports whether processes of this machine can share memory.
func CanShare() bool {
	f, err := shm.Create(1)
	return err == nil && f.Close() == nil
}

// ShmDatagram is the payload of a multicast datagram in shared memory, in bytes, up to the size
// that is useful for chunks.
const ShmDatagram = 32 << 10

// mcast returns the configuration of the transport mcast, given the configuration of its puts.
func (l *Link) mcast(puts tcp.Config) mcast.Config {
	family := 4
	if l.IPv6 {
		family = 6
	}
	return mcast.Config{TCP: puts, Interface: l.Interface, Family: family, Loss: l.Loss, Seed: l.Seed}
}

// TryMulticast tests multicast with a single rank that multicasts to itself. It returns the number
// of bytes of a message that fit into a datagram.
func (l *Link) TryMulticast(ctx context.Context) (datagram int, err error) {
	t, err := mcast.Join(ctx, l.mcast(tcp.Config{Size: 1, Key: l.Key, Encrypt: l.Encrypt}))
	if err != nil {
		return 0, err
	}
	return t.Caps().Datagram, t.Close(true, 0)
}

// TryVerbs tests the port with a single rank. It returns the number of bytes of a message that fit
// into a datagram, or 0 if the device does not multicast. The error for a missing port does not
// mention ranks.
func (l *Link) TryVerbs(ctx context.Context) (datagram int, err error) {
	if err := verbs.Check(verbs.Config{Device: l.Device}); err != nil {
		return 0, err
	}
	t, err := l.Open(ctx, tcp.Config{Size: 1})
	if err != nil {
		return 0, err
	}
	return t.Caps().Datagram, t.Close(true, 0)
}
