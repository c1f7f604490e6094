package meet

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/schedgen/schedgen/internal/transport/seal"
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
		return meetAsHost(ctx, &cfg)
	}
	return meetAsGuest(ctx, &cfg)
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

// meetAsHost is rank 0's part.
func meetAsHost(ctx context.Context, cfg *Config) (*Meeting, net.Listener, error) {
	h := newHost(cfg)
	if err := drawID(cfg, &h.id); err != nil {
		return nil, nil, err
	}
	door, err := listenAtDoor(ctx, cfg)
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
	h.addr, h.data = addr, data
	h.openDoor(door)
	m, err := h.host(ctx)
	return finish(cfg, m, data, err)
}

// meetAsGuest is the part of the other ranks.
func meetAsGuest(ctx context.Context, cfg *Config) (*Meeting, net.Listener, error) {
	g := &guest{cfg: cfg}
	if cfg.Fault != nil {
		g.tell(ctx, &faultError{cfg.Rank, cfg.Fault})
		return nil, nil, cfg.Fault
	}
	m, err := g.join(ctx)
	if own := new(faultError); errors.As(err, &own) {
		if !g.told {
			g.tell(ctx, own)
		}
		err = own.err
	}
	return finish(cfg, m, g.data, err)
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

// drawID draws the communicator's identity.
func drawID(cfg *Config, id *[16]byte) error {
	if _, err := io.ReadFull(cfg.Rand, id[:]); err != nil {
		return fmt.Errorf("draw the communicator's identity: %w", err)
	}
	return nil
}

// drawSeed draws the seed of the session's keys. It does so for every table, when all its ranks
// have arrived. A process that comes later in place of one of them does not get this seed, and so
// never seals anything with keys that were used before.
func drawSeed(m *Meeting) { rand.Read(m.seed[:]) }

// deriveSession derives the session of the ranks from the seed, at every rank.
func deriveSession(cfg *Config, m *Meeting) (err error) {
	m.Session, err = seal.NewSession(cfg.credentials.Mode, cfg.Key, &m.seed, m.ID, cfg.Job)
	return err
}
