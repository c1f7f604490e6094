package meet

import (
	"cmp"
	"context"
	"net"
)

// Meet returns when all ranks have met and are prepared. If ctx ends first, Meet fails at every
// rank, and the errors name the ranks that have not arrived. The listener is where this rank
// accepts later connections; a rank that is alone has none.
//
// Until all have arrived, a process may go, be started again and come again, including rank 0's.
func Meet(ctx context.Context, cfg Config) (*Meeting, net.Listener, error) {
	if cfg.Listener != nil && cfg.Share == nil {
		defer cfg.Listener.Close()
	}
	if err := cfg.fill(); err != nil {
		if cfg.Fault != nil {
			err = cfg.Fault
		}
		return nil, nil, err
	}
	switch {
	case cfg.Size == 1:
		if cfg.Fault != nil {
			return nil, nil, cfg.Fault
		}
		m, err := meetAlone(ctx, &cfg)
		return m, nil, err
	case cfg.Rank == 0:
		return meetFirst(ctx, &cfg)
	}
	return meetOther(ctx, &cfg)
}

func meetAlone(ctx context.Context, cfg *Config) (*Meeting, error) {
	m := &Meeting{Addrs: []string{""}, Blobs: [][]byte{cfg.Blob}}
	if err := drawID(cfg, &m.ID); err != nil {
		return nil, err
	}
	drawSeed(m)
	if err := deriveSession(cfg, m); err != nil {
		return nil, err
	}
	return m, prepare(ctx, cfg, m)
}

func prepare(ctx context.Context, cfg *Config, m *Meeting) error {
	if cfg.Prepare == nil {
		return nil
	}
	return cfg.Prepare(ctx, m)
}

// meetFirst is rank 0's part.
func meetFirst(ctx context.Context, cfg *Config) (*Meeting, net.Listener, error) {
	n := newNode(cfg)
	if err := drawID(cfg, &n.id); err != nil {
		return nil, nil, err
	}
	door, err := listenAtDoor(ctx, cfg, cfg.Coordinator)
	if err != nil && cfg.Fault != nil {
		err = cfg.Fault // nobody can hear it
	}
	if err != nil {
		return nil, nil, err
	}
	data, addr, err := listenForLater(ctx, cfg, cmp.Or(cfg.Bind, hostOf(door.Addr())))
	if err != nil && cfg.Fault == nil {
		cfg.Fault = err
	}
	n.roster.add(entry{0, addr, cfg.Blob})
	n.openDoor(door)
	n.later = func() net.Listener { return data }
	m, err := n.prepareAll(ctx, nil)
	return finish(cfg, m, data, err)
}

// meetOther is the part of the other ranks.
func meetOther(ctx context.Context, cfg *Config) (*Meeting, net.Listener, error) {
	n := newNode(cfg)
	if cfg.Doors != nil && (hasChildren(cfg.Rank, cfg.Size) || cfg.Size == 0) {
		door, err := listenAtDoor(ctx, cfg, cfg.Doors(cfg.Rank))
		switch {
		case err == nil:
			n.openDoor(door)
		case cfg.Fault == nil:
			cfg.Fault = err
		}
	}
	joining, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	j := &joiner{n: n, ctx: joining}
	n.later = func() net.Listener { return j.data }
	if cfg.Fault != nil {
		n.outcome = &joined{cfg.Fault} // this rank only tells the fault
	} else {
		n.wg.Go(j.joinParent)
	}
	m, err := n.prepareAll(ctx, giveUp)
	return finish(cfg, m, j.data, err)
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
