package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/schedgen/schedgen/runtime/hybrid"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// The transports of run.
const (
	overMem    = "mem"
	overTCP    = "tcp"
	overMcast  = "mcast"
	overShm    = "shm"
	overHybrid = "hybrid"
	overVerbs  = "verbs"
	overAuto   = "auto"
)

// transportHelp are the values of --transport, and the text of each in --help.
var transportHelp = [][2]string{
	{overMem, "goroutines of one process"},
	{overTCP, "TCP"},
	{overMcast, "UDP multicast, and TCP"},
	{overShm, "shared memory of one host"},
	{overHybrid, "shared memory within a host and TCP between hosts, with multicast if --interface is given"},
	{overVerbs, "InfiniBand or RoCE, in programs that are built with -tags verbs"},
	{overAuto, ""}, // the text depends on the verb
}

// runAuto is the text of auto for the verbs run and rank.
const runAuto = "hybrid, with multicast if that works here"

// transportTable lays out the help of the named transports. auto is the text of the transport auto.
func transportTable(auto string, names ...string) string {
	var rows [][2]string
	for _, t := range transportHelp {
		if t[0] == overAuto {
			t[1] = auto
		}
		if slices.Contains(names, t[0]) {
			rows = append(rows, t)
		}
	}
	return table(rows)
}

// openTransport connects a rank that is a process with the others.
func openTransport(ctx context.Context, j *job) (wire.Transport, error) {
	if j.Link.Transport == overShm {
		return j.openShared(ctx)
	}
	l, err := j.listener(ctx)
	if err != nil {
		return nil, err
	}
	return j.Link.open(ctx, tcp.Config{Rank: j.Rank, Size: j.Params.Ranks, Job: j.Link.Job, Coordinator: j.Link.Coordinator, Listener: l, Log: j.log})
}

// open connects a rank with the others, which meet as cfg says.
func (l *link) open(ctx context.Context, cfg tcp.Config) (wire.Transport, error) {
	cfg.Key, cfg.Encrypt = l.Key, l.Encrypt
	switch l.Transport {
	case overTCP:
		return opened(tcp.Join(ctx, cfg))
	case overMcast:
		return opened(mcast.Join(ctx, l.mcast(cfg)))
	case overHybrid:
		return opened(l.openHybrid(ctx, cfg))
	case overVerbs:
		return opened(l.openVerbs(ctx, cfg))
	}
	return nil, fmt.Errorf("no transport %q", l.Transport)
}

// openShared connects a rank with the others through the shared memory that all have inherited.
func (j *job) openShared(ctx context.Context) (t wire.Transport, err error) {
	f := os.NewFile(uintptr(j.SegmentFD), "segment")
	if f == nil {
		return nil, errors.New("no shared memory was inherited")
	}
	t, err = opened(shm.Join(ctx, shm.Config{Rank: j.Rank, Size: j.Params.Ranks, File: f}))
	if e := f.Close(); e != nil && err == nil { // the memory stays mapped
		return nil, errors.Join(e, t.Close(false, 0))
	}
	return t, err
}

// openHybrid connects a rank by the transport hybrid. It prints a line if the ranks of this host
// cannot share memory.
func (l *link) openHybrid(ctx context.Context, puts tcp.Config) (*hybrid.Transport, error) {
	cfg := hybrid.Config{TCP: puts}
	if l.multicasts() {
		m := l.mcast(tcp.Config{})
		cfg.Mcast = &m
	}
	t, err := hybrid.Join(ctx, cfg)
	if err == nil && t.Reason() != "" {
		fmt.Fprintf(os.Stderr, "no shared memory on this host: %s\n", t.Reason())
	}
	return t, err
}

// canShare reports whether processes of this machine can share memory.
func canShare() bool {
	f, err := shm.Create(1)
	return err == nil && f.Close() == nil
}

// sharedDatagram is the payload of a multicast datagram in shared memory, in bytes, up to the size
// that is useful for chunks.
const sharedDatagram = 32 << 10

// mcast returns the configuration of the transport mcast, given that of its puts.
func (l *link) mcast(puts tcp.Config) mcast.Config {
	family := 4
	if l.IPv6 {
		family = 6
	}
	return mcast.Config{TCP: puts, Interface: l.Interface, Family: family, Loss: l.Loss, Seed: l.Seed}
}

// tryMulticast tests multicast with a single rank that multicasts to itself. It returns the number
// of bytes of a message that fit into a datagram.
func (l *link) tryMulticast(ctx context.Context) (datagram int, err error) {
	t, err := mcast.Join(ctx, l.mcast(tcp.Config{Size: 1, Key: l.Key, Encrypt: l.Encrypt}))
	if err != nil {
		return 0, err
	}
	return t.Caps().Datagram, t.Close(true, 0)
}

// opened returns a nil interface with an error, and not an interface that holds a nil pointer.
func opened[T wire.Transport](t T, err error) (wire.Transport, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}
