package tcp

import (
	"context"
	"fmt"
	"io"
	"net"
)

// Join builds the communicator: rank 0 waits at cfg.Coordinator until all
// ranks have called Join, and tells them each other's addresses. It returns
// when all are ready or when ctx ends, which fails it everywhere; rank 0 then
// names the ranks that have not arrived.
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	if cfg.Listener != nil {
		defer cfg.Listener.Close()
	}
	t, err := join(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("tcp: rank %d of %d joins: %w", cfg.Rank, cfg.Size, err)
	}
	return t, nil
}

func join(ctx context.Context, cfg Config) (*Transport, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	if cfg.Size == 1 {
		return joinAlone(&cfg)
	}
	if cfg.Rank == 0 {
		return joinFirst(ctx, &cfg)
	}
	return joinOther(ctx, &cfg)
}

func joinAlone(cfg *Config) (*Transport, error) {
	tab := &table{addrs: []string{""}, blobs: [][]byte{cfg.Blob}}
	if err := drawID(cfg, tab); err != nil {
		return nil, err
	}
	if err := prepare(cfg, tab); err != nil {
		return nil, err
	}
	return newTransport(cfg, tab, -1)
}

func drawID(cfg *Config, tab *table) error {
	if _, err := io.ReadFull(cfg.Rand, tab.id[:]); err != nil {
		return fmt.Errorf("draw the communicator's identity: %w", err)
	}
	return nil
}

func prepare(cfg *Config, tab *table) error {
	if cfg.Prepare == nil {
		return nil
	}
	return cfg.Prepare(Members{ID: tab.id, Blobs: tab.blobs})
}

// joinFirst is rank 0's part.
func joinFirst(ctx context.Context, cfg *Config) (*Transport, error) {
	meeting := cfg.Listener
	if meeting == nil {
		var lc net.ListenConfig
		var err error
		if meeting, err = lc.Listen(ctx, "tcp", cfg.Coordinator); err != nil {
			return nil, fmt.Errorf("wait for the other ranks: %w", err)
		}
		defer meeting.Close()
	}
	bind := cfg.Bind
	if bind == "" {
		bind = hostOf(meeting.Addr())
	}
	fd, addr, err := listenData(bind)
	if err != nil {
		return nil, err
	}
	tab := newTable(cfg, addr)
	if err = drawID(cfg, tab); err == nil {
		err = coordinate(ctx, cfg, meeting, tab)
	}
	return finish(cfg, tab, fd, err)
}

func newTable(cfg *Config, addr string) *table {
	tab := &table{addrs: make([]string, cfg.Size), blobs: make([][]byte, cfg.Size)}
	tab.addrs[0], tab.blobs[0] = addr, cfg.Blob
	return tab
}

// joinOther is the part of the other ranks.
func joinOther(ctx context.Context, cfg *Config) (*Transport, error) {
	conn, err := reach(ctx, cfg.Coordinator)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(longAgo) })
	defer stop()
	bind := cfg.Bind
	if bind == "" {
		bind = hostOf(conn.LocalAddr())
	}
	fd, addr, err := listenData(bind)
	if err != nil {
		return nil, err
	}
	tab, err := attend(ctx, cfg, conn, addr)
	return finish(cfg, tab, fd, err)
}

// finish makes the transport or gives the listening descriptor back.
func finish(cfg *Config, tab *table, fd int, err error) (*Transport, error) {
	if err != nil {
		closeFD(fd)
		return nil, err
	}
	return newTransport(cfg, tab, fd)
}

// hostOf returns the host part of an address, with its zone; empty if that is
// the wildcard.
func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); err != nil || ip != nil && ip.IsUnspecified() {
		return ""
	}
	return host
}

// listenData opens the listener for data connections at a port of the
// system's choice. The address returned has an empty host if bind has.
func listenData(bind string) (fd int, addr string, err error) {
	l, err := net.Listen("tcp", net.JoinHostPort(bind, "0"))
	if err != nil {
		return -1, "", fmt.Errorf("accept connections: %w", err)
	}
	defer l.Close()
	fd, err = takeFD(l.(*net.TCPListener))
	if err != nil {
		return -1, "", fmt.Errorf("accept connections at %v: %w", l.Addr(), err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		closeFD(fd)
		return -1, "", fmt.Errorf("accept connections: %w", err)
	}
	return fd, net.JoinHostPort(hostOf(l.Addr()), port), nil
}

// fillHost puts the host of a into addr if that has none.
func fillHost(addr string, a net.Addr) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	if host == "" {
		host = hostOf(a)
	}
	return net.JoinHostPort(host, port), nil
}
