package stream

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/internal/transport/seal"
	"github.com/schedgen/schedgen/internal/transport/tcpopt"
)

// dialTimeout is the default time for a first connection: as long as a connected rank may be silent
// when the network goes away.
const dialTimeout = 30 * time.Second

// MaxJob is the greatest length of a job's name in bytes.
const MaxJob = meet.MaxJob

// MinKey and MaxKey are the least and the greatest length of a key in bytes.
const (
	MinKey = seal.MinKey
	MaxKey = seal.MaxKey
)

// Options are the options of tcp.Config; see there.
type Options struct {
	Rank, Size  int
	Job         string
	Key         []byte
	Encrypt     bool
	Coordinator string
	Listener    net.Listener
	Share       bool
	Guests      func(net.Conn)
	Apart       bool
	Bind        string
	Rand        io.Reader
	DialTimeout time.Duration
	Clock       clock.Clock
	Log         *slog.Logger
}

// Config says how a rank finds the other ranks, and what it tells them; see [meet.Config].
type Config struct {
	Options
	Transport string // the name of the transport that puts over this one; empty: tcp
	Blob      []byte
	// Prepare, if not nil, does everything that can still fail when all ranks have arrived. Join
	// returns only after every rank has done so; an error of one fails all. If Join fails, the
	// transport is closed.
	Prepare func(context.Context, *Transport, *meet.Meeting) error
	Release func() // see [meet.Config]
	Sparse  bool   // most puts are signals

	fault error // why this rank cannot take part; see Tell
}

// Join lets the ranks meet and returns the transport.
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	t, err := join(ctx, &cfg)
	if err != nil {
		return nil, fmt.Errorf("tcp: join as rank %d of %d: %w", cfg.Rank, cfg.Size, err)
	}
	return t, nil
}

// Tell says to the other ranks that this one cannot take part because of fault, so that they do not
// wait for it. It takes at most a few seconds. Like Join, it closes a listener that is not shared.
func Tell(ctx context.Context, cfg Config, fault error) {
	cfg.fault = fault
	_, _ = join(ctx, &cfg) // it returns fault
}

func join(ctx context.Context, cfg *Config) (*Transport, error) {
	var share *meet.Share
	switch {
	case cfg.Share && cfg.Listener == nil:
		return nil, errors.New("there is no listener to be shared")
	case cfg.Share:
		share = &meet.Share{}
		binary.BigEndian.PutUint32(share.Later[:], greetingMagic)
	case cfg.Listener != nil:
		defer cfg.Listener.Close()
	}
	if l, ok := cfg.Listener.(*net.TCPListener); ok {
		tcpopt.Of(l, tcpopt.Unpaced) // accepted connections inherit it
	}
	cfg.Clock = clock.OrSystem(cfg.Clock)
	if cfg.DialTimeout == 0 {
		cfg.DialTimeout = dialTimeout
	}
	if cfg.DialTimeout < 0 {
		return nil, fmt.Errorf("negative dial timeout %v", cfg.DialTimeout)
	}
	var t *Transport
	prepare := func(ctx context.Context, m *meet.Meeting) (err error) {
		if t, err = prepare(cfg, m); err == nil && cfg.Prepare != nil {
			err = cfg.Prepare(ctx, t, m)
		}
		return err
	}
	m, l, err := meet.Meet(ctx, meet.Config{
		Rank: cfg.Rank, Size: cfg.Size, Job: cfg.Job, Key: cfg.Key, Encrypt: cfg.Encrypt, Bind: cfg.Bind,
		Coordinator: cfg.Coordinator, Listener: cfg.Listener, Share: share, Apart: cfg.Apart, Fault: cfg.fault,
		Transport: cmp.Or(cfg.Transport, "tcp"), Blob: cfg.Blob, Prepare: prepare, Release: cfg.Release, Rand: cfg.Rand, Clock: cfg.Clock, Log: cfg.Log,
	})
	if err != nil {
		if t != nil {
			t.release()
		}
		return nil, err
	}
	if l != nil && !cfg.Share {
		l.Close() // the transport has a descriptor of its own
	}
	t.stats.Rejected = m.Refused
	for _, e := range m.Early {
		t.listener.admit(&e)
	}
	return t, nil
}

// prepare makes the transport when all ranks have arrived. An error fails the meeting at every rank.
func prepare(cfg *Config, m *meet.Meeting) (*Transport, error) {
	fd, err := listenFD(m.Listener)
	if err != nil {
		return nil, err
	}
	return newTransport(cfg, m, fd)
}

// listenFD returns a descriptor of a listener, or -1 if there is none.
func listenFD(l net.Listener) (int, error) {
	if l == nil {
		return -1, nil
	}
	fd, err := takeFD(l.(*net.TCPListener)) // the system's network has no other listeners
	if err != nil {
		return -1, fmt.Errorf("accept connections at %v: %w", l.Addr(), err)
	}
	return fd, nil
}
