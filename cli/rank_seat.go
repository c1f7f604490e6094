package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/meet/launch"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// seatFlags are the flags of a rank that is started by hand or by a launcher.
type seatFlags struct {
	Rank *int   `placeholder:"R" help:"This rank; default from the launcher's variables (SCHEDGEN_RANK, PMI_RANK and so on)."`
	Job  string `placeholder:"NAME" help:"Name of the job, the same at all its ranks. Ranks of another job are turned away. Default SCHEDGEN_JOB."`

	found *launch.Position `kong:"-"` // the launcher's position; nil if the flags tell everything
}

// meeting returns where the rank meets the others: at --coordinator, or else where the launcher's
// variables say.
func (s *seatFlags) meeting(ctx context.Context, f *runFlags) (tcp.Config, error) {
	if f.Coordinator != "" {
		cfg := tcp.Config{Rank: *s.Rank, Job: s.Job, Coordinator: f.Coordinator}
		if f.Ranks != nil { // otherwise a file says how many ranks there are, and cannot be read
			cfg.Size = f.Ranks.Lo
		}
		return cfg, nil
	}
	m, err := s.found.Meet(ctx)
	cfg := m.Config(s.found)
	cfg.Job = cmp.Or(s.Job, cfg.Job)
	return cfg, err
}

// opening returns the function that connects the rank with the others.
func (s *seatFlags) opening(f *runFlags) crew.Opening {
	if f.Coordinator != "" {
		return crew.OpenTransport
	}
	return func(ctx context.Context, j *crew.Job) (wire.Transport, error) {
		s.found.Log = j.Log
		cfg, err := s.meeting(ctx, f)
		if err != nil {
			return nil, err
		}
		return j.Link.Open(ctx, cfg)
	}
}

// tellTime limits how long a rank that cannot take part looks for the place where the others meet.
const tellTime = 2 * time.Second

// absent tells the other ranks that this one cannot take part because of why, before they have met,
// and returns why. It takes some seconds if nobody is there. position comes before it; if that has
// not found out where the others meet, absent only returns why.
func (s *seatFlags) absent(ctx context.Context, f *runFlags, std terminal.Stdio, why error) error {
	if s.Rank == nil || f.Coordinator == "" && s.found == nil {
		return why
	}
	asking, stop := context.WithTimeout(ctx, tellTime)
	defer stop()
	cfg, err := s.meeting(asking, f)
	if err != nil {
		return why // nobody can hear it
	}
	key, _ := f.secret(std.Getenv) // without the others' key they only count this rank as a stranger
	cfg.Key, cfg.Encrypt = key.Key, key.Encrypt
	tcp.Tell(ctx, cfg, why)
	return why
}

// unsaid lists the missing flags that no launcher replaces.
func (s *seatFlags) unsaid(f *runFlags) string {
	var flags []string
	if s.Rank == nil {
		flags = append(flags, "--rank")
	}
	if f.Ranks == nil {
		flags = append(flags, "-p")
	}
	if f.Coordinator == "" {
		flags = append(flags, "--coordinator=HOST:PORT (an address of rank 0, at which the ranks meet)")
	}
	return strings.Join(flags, ", ")
}

// position completes the flags from the launcher's variables and returns the rank.
func (s *seatFlags) position(f *runFlags, getenv func(string) string) (int, error) {
	switch {
	case f.Transport == overMem:
		return 0, errors.New("--transport=mem: is for ranks of one process")
	case f.Transport == overShm:
		return 0, errors.New("--transport=shm: is for ranks that one process starts; use hybrid, which finds the ranks of one host")
	case f.Netns != nil:
		return 0, errors.New("--netns: is for the verb run, which makes the hosts and starts all ranks")
	}
	if s.Job == "" {
		s.Job = getenv("SCHEDGEN_JOB")
	}
	if len(s.Job) > tcp.MaxJob {
		return 0, fmt.Errorf("--job: the name has %d bytes; at most %d are allowed", len(s.Job), tcp.MaxJob)
	}
	if f.Coordinator == "" || s.Rank == nil || f.Ranks == nil {
		found, err := launch.Find(getenv)
		switch {
		case errors.Is(err, launch.ErrNone):
			return 0, fmt.Errorf("no launcher has started this rank; give %s", s.unsaid(f))
		case err != nil:
			return 0, fmt.Errorf("%w; or give %s", err, s.unsaid(f))
		}
		s.found = &found
		if s.Rank == nil {
			s.Rank = &found.Rank
		}
		if f.Ranks == nil {
			f.Ranks = new(source.Ranks)
			if err := f.Ranks.UnmarshalText(fmt.Append(nil, found.Size)); err != nil {
				return 0, err
			}
		}
	}
	p, err := f.ranks()
	if err == nil && (*s.Rank < 0 || *s.Rank >= p) {
		err = fmt.Errorf("--rank=%d: must be in 0..%d", *s.Rank, p-1)
	}
	if at := s.found; err == nil && f.Coordinator == "" && (*s.Rank != at.Rank || p != at.Size) {
		err = fmt.Errorf("--rank=%d and -p %d: %s say rank %d of %d, and no --coordinator says where other ranks meet", *s.Rank, p, at.Source, at.Rank, at.Size)
	}
	return *s.Rank, err
}
