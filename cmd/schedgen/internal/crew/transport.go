package crew

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/schedgen/schedgen/runtime/hybrid"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/tcp"
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
func OpenTransport(ctx context.Context, j *Job) (wire.Transport, error) {
	if j.Link.Transport == Shm {
		return j.openShared(ctx)
	}
	l, err := j.listener(ctx)
	if err != nil {
		return nil, err
	}
	return j.Link.Open(ctx, tcp.Config{Rank: j.Rank, Size: j.Params.Ranks, Job: j.Link.Job, Coordinator: j.Link.Coordinator, Listener: l, Log: j.Log})
}

// Open connects a rank with the others, which meet as cfg says.
func (l *Link) Open(ctx context.Context, cfg tcp.Config) (wire.Transport, error) {
	cfg.Key, cfg.Encrypt = l.Key, l.Encrypt
	switch l.Transport {
	case TCP:
		return connected(tcp.Join(ctx, cfg))
	case Mcast:
		return connected(mcast.Join(ctx, l.mcast(cfg)))
	case Hybrid:
		return connected(l.openHybrid(ctx, cfg))
	case Verbs:
		return connected(l.openVerbs(ctx, cfg))
	}
	return nil, fmt.Errorf("no transport %q", l.Transport)
}

// openShared connects a rank with the others through the shared memory that all have inherited.
func (j *Job) openShared(ctx context.Context) (t wire.Transport, err error) {
	f := os.NewFile(uintptr(j.SegmentFD), "segment")
	if f == nil {
		return nil, errors.New("no shared memory was inherited")
	}
	t, err = connected(shm.Join(ctx, shm.Config{Rank: j.Rank, Size: j.Params.Ranks, File: f}))
	if e := f.Close(); e != nil && err == nil { // the memory stays mapped
		return nil, errors.Join(e, t.Close(false, 0))
	}
	return t, err
}

// openHybrid connects a rank by the transport hybrid. It prints a line if the ranks of this host
// cannot share memory.
func (l *Link) openHybrid(ctx context.Context, puts tcp.Config) (*hybrid.Transport, error) {
	cfg := hybrid.Config{TCP: puts}
	if l.Multicasts() {
		m := l.mcast(tcp.Config{})
		cfg.Mcast = &m
	}
	t, err := hybrid.Join(ctx, cfg)
	if err == nil && t.Reason() != "" {
		fmt.Fprintf(os.Stderr, "no shared memory on this host: %s\n", t.Reason())
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

// connected returns a nil interface with an error, and not an interface that holds a nil pointer.
func connected[T wire.Transport](t T, err error) (wire.Transport, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}
