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

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/seal"
	"github.com/schedgen/schedgen/runtime/internal/tcpopt"
	"github.com/schedgen/schedgen/runtime/meet"
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
	Doors       func(rank int) string
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
	Prepare   func(*meet.Meeting) error
	Sparse    bool // most puts are signals
}

// Join lets the ranks meet and returns the transport.
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	t, err := join(ctx, &cfg)
	if err != nil {
		return nil, fmt.Errorf("tcp: join as rank %d of %d: %w", cfg.Rank, cfg.Size, err)
	}
	return t, nil
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
	m, l, err := meet.Meet(ctx, meet.Config{
		Rank: cfg.Rank, Size: cfg.Size, Job: cfg.Job, Key: cfg.Key, Encrypt: cfg.Encrypt, Bind: cfg.Bind,
		Coordinator: cfg.Coordinator, Doors: cfg.Doors, Listener: cfg.Listener, Share: share, Apart: cfg.Apart,
		Transport: cmp.Or(cfg.Transport, "tcp"), Blob: cfg.Blob, Prepare: cfg.Prepare, Rand: cfg.Rand, Clock: cfg.Clock, Log: cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	fd, err := listenFD(l, cfg.Share)
	var t *Transport
	if err == nil {
		t, err = newTransport(cfg, m, fd)
	}
	for _, e := range m.Early {
		if err != nil {
			e.Conn.Close()
			continue
		}
		t.listener.admit(&e)
	}
	return t, err
}

// listenFD takes a listener's descriptor out of it, or returns -1 if there is none.
func listenFD(l net.Listener, shared bool) (int, error) {
	if l == nil {
		return -1, nil
	}
	if !shared {
		defer l.Close()
	}
	fd, err := takeFD(l.(*net.TCPListener)) // the system's network has no other listeners
	if err != nil {
		return -1, fmt.Errorf("accept connections at %v: %w", l.Addr(), err)
	}
	return fd, nil
}
