//go:build linux

package segment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
)

// Join connects this rank with the others of the host and returns when all have come. If the
// segment has a name, the name is removed by then or shortly afterwards.
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	if err := cfg.fill(); err != nil {
		return nil, fmt.Errorf("shm: %w", err)
	}
	t, err := join(ctx, &cfg)
	if err != nil {
		return nil, fmt.Errorf("shm: join as rank %d of %d: %w", cfg.Rank, cfg.Size, err)
	}
	return t, nil
}

func join(ctx context.Context, cfg *Config) (*Transport, error) {
	s, err := enter(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err = s.gather(ctx, cfg); err != nil && isOwn(err) {
		s.leaveNote(cfg.Rank, err)
	}
	if cfg.File == nil && cfg.Rank == 0 {
		err = errors.Join(err, os.Remove(cfg.path()))
	}
	if err != nil {
		atomic.StoreUint32(&s.rank(cfg.Rank).state, stateCrashed)
		return nil, errors.Join(err, s.unmap())
	}
	return newTransport(s, cfg.Rank, cfg.Clock, cfg.Kick), nil
}

// enter maps the segment and claims this rank's place in it.
func enter(ctx context.Context, cfg *Config) (segment, error) {
	if err := linked(cfg); err != nil {
		return segment{}, err
	}
	switch {
	case cfg.File != nil:
		return occupy(cfg, cfg.File)
	case cfg.Rank == 0:
		f, err := establish(cfg)
		if err != nil {
			tellByLink(cfg, err)
			return segment{}, err
		}
		s, err := occupy(cfg, f)
		if err != nil {
			err = errors.Join(err, os.Remove(cfg.path()))
		}
		_ = f.Close() // it is mapped
		return s, err
	}
	return seek(ctx, cfg)
}

// errOccupied says that a process has already joined as this rank.
var errOccupied = errors.New("another process has joined as this rank")

func occupy(cfg *Config, f *os.File) (segment, error) {
	s, err := attach(f, cfg.Size)
	if err != nil {
		tellIn(f, cfg.Rank, err)
		return segment{}, err
	}
	ok, err := s.claim(cfg.Rank)
	if err == nil && !ok {
		err = errOccupied
	}
	if err != nil {
		tellIn(f, cfg.Rank, err)
		return segment{}, errors.Join(err, s.unmap())
	}
	return s, nil
}

// seek tries until rank 0 has made the segment.
func seek(ctx context.Context, cfg *Config) (segment, error) {
	p := pause{clock: cfg.Clock}
	for {
		f, err := find(cfg)
		if err == nil {
			s, err := occupy(cfg, f)
			_ = f.Close() // it is mapped
			if !errors.Is(err, errOccupied) {
				return s, err
			}
		} else if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, errEarlier) {
			tellByLink(cfg, err)
			return segment{}, err
		}
		if err := linked(cfg); err != nil {
			return segment{}, err
		}
		if p.wait(ctx) != nil {
			return segment{}, fmt.Errorf("rank 0 has not made %s: %w", cfg.path(), errors.Join(context.Cause(ctx), err))
		}
	}
}

// gather waits until all ranks have come.
func (s segment) gather(ctx context.Context, cfg *Config) error {
	p := pause{clock: cfg.Clock}
	for rank, looks := 0, 0; rank < s.size; {
		l := s.rank(rank)
		if state := atomic.LoadUint32(&l.state); state == stateJoined || state == stateLeft {
			rank++
			continue
		}
		if err := p.wait(ctx); err != nil {
			return fmt.Errorf("rank %d has not come: %w", rank, err)
		}
		if err := s.living(looks % s.size); err != nil {
			return err
		}
		if err := linked(cfg); err != nil {
			return err
		}
		looks++
	}
	return nil
}

// living fails if a rank that has come has given up, or if suspect has died. It does not ask the
// system about all ranks: doing so each time and at every rank would keep hundreds of ranks from
// ever joining.
func (s segment) living(suspect int) error {
	if err := s.note(); err != nil {
		return err
	}
	for rank := range s.size {
		if atomic.LoadUint32(&s.rank(rank).state) >= stateCrashed {
			return &givenUpError{rank: rank}
		}
	}
	l := s.rank(suspect)
	state := atomic.LoadUint32(&l.state) // read first, since it is written last
	pid := atomic.LoadUint32(&l.pid)
	if state == stateJoined && int(pid) != os.Getpid() && !alive(pid, atomic.LoadUint64(&l.start)) {
		return fmt.Errorf("rank %d: %w", suspect, errDied)
	}
	return nil
}

// pause waits between two looks, longer each time.
type pause struct {
	clock clock.Clock
	next  time.Duration
}

const (
	shortestPause = 50 * time.Microsecond
	longestPause  = 10 * time.Millisecond
)

func (p *pause) wait(ctx context.Context) error {
	p.next = min(max(2*p.next, shortestPause), longestPause)
	return clock.Sleep(ctx, p.clock, p.next)
}
