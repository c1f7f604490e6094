package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/runtime/meet/launch"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// seatFlags are the flags of a rank that is started by hand or by a launcher.
type seatFlags struct {
	Rank *int   `placeholder:"R" help:"This rank; default from the launcher's variables (SCHEDGEN_RANK, PMI_RANK and so on)."`
	Job  string `placeholder:"NAME" help:"Name of the job, the same at all its ranks. Ranks of another job are turned away. Default SCHEDGEN_JOB."`

	found *launch.Position `kong:"-"` // the launcher's position; nil if the flags tell everything
}

// opening returns the function that connects the rank with the others: at --coordinator, or else
// where the launcher's variables say.
func (s *seatFlags) opening(f *runFlags) crew.Opening {
	if f.Coordinator != "" {
		return crew.OpenTransport
	}
	return s.openFound
}

// openFound connects a rank with the others at the meeting point that the launcher's variables
// name.
func (s *seatFlags) openFound(ctx context.Context, j *crew.Job) (wire.Transport, error) {
	s.found.Log = j.Log
	m, err := s.found.Meet(ctx)
	if err != nil {
		return nil, err
	}
	cfg := m.Config(s.found)
	if j.Link.Job != "" {
		cfg.Job = j.Link.Job
	}
	return j.Link.Open(ctx, cfg)
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
			f.Ranks = new(rankRange)
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
