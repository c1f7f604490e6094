package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/schedgen/schedgen/runtime/clock"
)

// Meet returns when all ranks have met and are prepared, or when ctx ends, which
// fails it everywhere; all then name the ranks that have not arrived. The
// listener is where this rank accepts connections; one that is alone has none.
func Meet(ctx context.Context, cfg Config) (*Meeting, *net.TCPListener, error) {
	if cfg.Listener != nil {
		defer cfg.Listener.Close()
	}
	if err := cfg.fill(); err != nil {
		return nil, nil, err
	}
	switch {
	case cfg.Size == 1:
		m, err := meetAlone(&cfg)
		return m, nil, err
	case cfg.Rank == 0:
		return meetFirst(ctx, &cfg)
	}
	return meetOther(ctx, &cfg)
}

func meetAlone(cfg *Config) (*Meeting, error) {
	m := &Meeting{Addrs: []string{""}, Blobs: [][]byte{cfg.Blob}}
	if err := drawID(cfg, m); err != nil {
		return nil, err
	}
	drawSeed(m)
	if err := share(cfg, m); err != nil {
		return nil, err
	}
	return m, prepare(cfg, m)
}

func drawID(cfg *Config, m *Meeting) error {
	if _, err := io.ReadFull(cfg.Rand, m.ID[:]); err != nil {
		return fmt.Errorf("draw the communicator's identity: %w", err)
	}
	return nil
}

func prepare(cfg *Config, m *Meeting) error {
	if cfg.Prepare == nil {
		return nil
	}
	return cfg.Prepare(m)
}

// meetFirst is rank 0's part.
func meetFirst(ctx context.Context, cfg *Config) (*Meeting, *net.TCPListener, error) {
	meeting := cfg.Listener
	if meeting == nil {
		var lc net.ListenConfig
		var err error
		if meeting, err = lc.Listen(ctx, "tcp", cfg.Coordinator); err != nil {
			return nil, nil, fmt.Errorf("wait for the other ranks: %w", err)
		}
		defer meeting.Close()
	}
	bind := cfg.Bind
	if bind == "" {
		bind = hostOf(meeting.Addr())
	}
	data, addr, err := listenData(bind)
	if err != nil {
		return nil, nil, err
	}
	m := &Meeting{Addrs: make([]string, cfg.Size), Blobs: make([][]byte, cfg.Size)}
	m.Addrs[0], m.Blobs[0] = addr, cfg.Blob
	if err = drawID(cfg, m); err == nil {
		err = coordinate(ctx, cfg, meeting, m)
	}
	return finish(m, data, err)
}

// meetOther is the part of the other ranks. A connection that ends before the
// coordinator has said a word may have had to make room for others; so it comes
// again, unless the coordinator has gone.
func meetOther(ctx context.Context, cfg *Config) (*Meeting, *net.TCPListener, error) {
	conn, err := reach(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		m, l, err := visit(ctx, cfg, conn)
		if !errors.Is(err, errUnheard) || clock.Sleep(ctx, cfg.Clock, pause) != nil {
			return m, l, err
		}
		var gone error
		if conn, gone = Dial(ctx, cfg.Clock, cfg.Coordinator, dialLimit); gone != nil {
			return nil, nil, err
		}
	}
}

// visit meets the others over conn.
func visit(ctx context.Context, cfg *Config, conn net.Conn) (*Meeting, *net.TCPListener, error) {
	defer conn.Close()
	bind := cfg.Bind
	if bind == "" {
		bind = hostOf(conn.LocalAddr())
	}
	data, addr, err := listenData(bind)
	if err != nil {
		return nil, nil, err
	}
	m, err := attend(ctx, cfg, conn, addr)
	return finish(m, data, err)
}

// finish gives the listener back if there is no meeting.
func finish(m *Meeting, data *net.TCPListener, err error) (*Meeting, *net.TCPListener, error) {
	if err != nil {
		data.Close()
		return nil, nil, err
	}
	return m, data, nil
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
func listenData(bind string) (l *net.TCPListener, addr string, err error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(bind, "0"))
	if err != nil {
		return nil, "", fmt.Errorf("accept connections: %w", err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		listener.Close()
		return nil, "", fmt.Errorf("accept connections: %w", err)
	}
	return listener.(*net.TCPListener), net.JoinHostPort(hostOf(listener.Addr()), port), nil
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
