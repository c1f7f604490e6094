package meet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
)

// Meet returns when all ranks have met and are prepared, or when ctx ends, which fails it
// everywhere; all then name the ranks that have not arrived. The listener is where this rank
// accepts later connections; a rank that is alone has none.
//
// Until all have arrived, a process may go, be started again and come again, including rank 0's.
func Meet(ctx context.Context, cfg Config) (*Meeting, net.Listener, error) {
	if cfg.Listener != nil && cfg.Share == nil {
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
	if err := drawID(cfg, &m.ID); err != nil {
		return nil, err
	}
	drawSeed(m)
	if err := share(cfg, m); err != nil {
		return nil, err
	}
	return m, prepare(cfg, m)
}

func drawID(cfg *Config, id *[16]byte) error {
	if _, err := io.ReadFull(cfg.Rand, id[:]); err != nil {
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
func meetFirst(ctx context.Context, cfg *Config) (*Meeting, net.Listener, error) {
	n := newNode(cfg)
	if err := drawID(cfg, &n.id); err != nil {
		return nil, nil, err
	}
	door, err := openAt(ctx, cfg, cfg.Coordinator)
	if err != nil {
		return nil, nil, err
	}
	data, addr, err := openData(ctx, cfg, cmp.Or(cfg.Bind, hostOf(door.Addr())))
	if err != nil {
		door.Close()
		return nil, nil, err
	}
	n.roster.add(entry{0, addr, cfg.Blob})
	n.open(door)
	m, err := n.run(ctx, nil)
	return finish(cfg, m, data, err)
}

// openData opens the listener for later connections.
func openData(ctx context.Context, cfg *Config, bind string) (l net.Listener, addr string, err error) {
	if cfg.Share == nil {
		return listenAt(ctx, cfg.Network, bind)
	}
	addr, err = publicAddr(cfg.Listener)
	return cfg.Listener, addr, err
}

// openAt opens the door for the ranks below.
func openAt(ctx context.Context, cfg *Config, addr string) (net.Listener, error) {
	if cfg.Listener != nil {
		return cfg.Listener, nil
	}
	l, err := cfg.Network.Listen(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("wait for the other ranks: %w", err)
	}
	return l, nil
}

// meetOther is the part of the other ranks.
func meetOther(ctx context.Context, cfg *Config) (*Meeting, net.Listener, error) {
	n := newNode(cfg)
	if cfg.Doors != nil && hasBelow(cfg.Rank, cfg.Size) {
		door, err := openAt(ctx, cfg, cfg.Doors(cfg.Rank))
		if err != nil {
			return nil, nil, err
		}
		n.open(door)
	}
	climbing, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	c := &climber{n: n, ctx: climbing, net: cfg.Network}
	n.wg.Go(c.climb)
	m, err := n.run(ctx, giveUp)
	return finish(cfg, m, c.data, err)
}

// finish closes the listener if there is no meeting.
func finish(cfg *Config, m *Meeting, data net.Listener, err error) (*Meeting, net.Listener, error) {
	if err == nil {
		return m, data, nil
	}
	if data != nil && cfg.Share == nil {
		data.Close()
	}
	return nil, nil, err
}
