package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/internal/ir/windows"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/verify"
)

// Use makes c run schedule s in all calls of its collective with its root: for example, in all
// barriers, or in all broadcasts from that root. Broadcasts also run an anycast schedule. s is
// generated code (schedgen emit --format go), or any other schedule by [machine.Of]. Every rank
// must call Use with the same schedule, between the same operations.
//
// Use first proves the schedule by all checks of package verify. If a check fails, the error wraps
// ErrInput and the [verify.Failure], and nothing changes. [Comm.UseUnverified] uses a schedule
// without a proof.
//
// A process proves a schedule once, for all its ranks and communicators. Use sends nothing, and
// other goroutines may use the communicator during the proof. On one core the proof of a large
// barrier or acknowledged broadcast takes 5 ms for 64 ranks, 30 ms for 1,024, a second and 20 MB
// for 4,096, and ten seconds and 80 MB for 16,384. Generated code is not proved again: schedgen
// emit proves each schedule, and refuses one that does not verify.
//
// A schedule is for one number of ranks, one root and one number of chunks. A message of any length
// is cut into that number of chunks; Config.Chunk does not count. If the ranks or chunks do not fit
// the communicator and its Config, the error wraps ErrInput and nothing changes. Once one root has
// a schedule, a call of the collective with a root that has none is an error. A later schedule for
// the same root replaces the earlier one. If ranks have windows, the signals of a barrier are flags
// at the places that s.Places names. If such a place has no such rank or signal, the error wraps
// ErrInput. Errors and [Comm.State] call s.Program to find the ranks that others wait for, in any
// goroutine.
func (c *Comm) Use(s *machine.Schedule) error {
	var terms verify.Terms
	var unproved error
	if c.usable(s) == nil {
		terms, unproved = proved(s)
	}
	return c.use(s, terms, unproved)
}

// UseUnverified is [Comm.Use] without a proof. If the schedule is wrong, calls may hang, return too
// early or bring wrong data, at some ranks and not at others.
func (c *Comm) UseUnverified(s *machine.Schedule) error { return c.use(s, verify.Terms{}, nil) }

// use makes c run s. unproved is the error to return if s fits c and is not proved.
func (c *Comm) use(s *machine.Schedule, terms verify.Terms, unproved error) error {
	if !c.occupy() {
		return ErrBusy
	}
	defer c.vacate()
	if err := c.core.Err(); err != nil {
		return err
	}
	if err := cmp.Or(c.usable(s), unproved); err != nil {
		return fmt.Errorf("%w: use: %w", ErrInput, err)
	}
	program, err := s.Compile(c.rank)
	if err != nil {
		return fmt.Errorf("%w: use: %w", ErrInput, err)
	}
	if _, err := s.Compile(s.Header.Root); err != nil {
		return fmt.Errorf("%w: use: %w", ErrInput, err)
	}
	own := s.Program(c.rank)
	places, err := placesOf(s, &own)
	if err != nil {
		return fmt.Errorf("%w: use: %s: %w", ErrInput, s.Header.Name(), err)
	}
	clear(c.plans.recent)
	compiled := core.NewPlan(&s.Header, program, s.Program(s.Header.Root), s.Digest)
	compiled.Programs, compiled.InPlace = s.Program, terms.InPlace
	switch {
	case c.plans.reaches == nil:
	case compiled.Chunks > 0:
		compiled.Shelve(c.rank, c.plans.reaches, s.Program)
	case places != nil:
		compiled.Flags(c.rank, c.plans.reaches, c.plans.together, places)
	}
	c.plans.open(&own)
	relays := sync.OnceValue(func() bool { return s.Header.Relays(s.Program) })
	p := &plan{Plan: compiled, relays: relays, ordered: terms.RankOrder}
	if terms.Position { // it folds along one tree, which the program has chosen
		p.tree = selection.Tree(s.Header.Collective)
	}
	c.used.add(p, &s.Header)
	return nil
}

func (c *Comm) usable(s *machine.Schedule) error {
	if s == nil || s.Program == nil {
		return errors.New("no schedule")
	}
	h := &s.Header
	switch fixed := c.cfg.Algorithms[useFor(h.Collective)].Params.Chunks; {
	case h.Ranks != c.size:
		return fmt.Errorf("%s is for %d ranks, the communicator has %d", h.Name(), h.Ranks, c.size)
	case h.Root < 0 || h.Root >= h.Ranks:
		return fmt.Errorf("%s: root %d outside 0 … %d", h.Name(), h.Root, h.Ranks-1)
	case h.Row() == nil:
		return fmt.Errorf("%s: no such collective", h.Name())
	case !h.HasMessage():
		return nil
	case h.Chunks < 1 || h.Chunks%h.Blocks() != 0:
		return fmt.Errorf("%s has %d chunks of %d blocks", h.Name(), h.Chunks, h.Blocks())
	case fixed > 0 && fixed != h.BlockChunks():
		return fmt.Errorf("%s cuts each block into %d chunks, Config.Algorithms for %s into %d", h.Name(), h.BlockChunks(), useFor(h.Collective), fixed)
	}
	return nil
}

// placesOf returns the places where the signals of own's rank may be flags, or nil if there are
// none.
func placesOf(s *machine.Schedule, own *ir.Program) (*windows.Places, error) {
	if s.Places == nil || !s.Header.Synchronizes() {
		return nil, nil
	}
	places := s.Places(own.Rank)
	return &places, places.Check(own, s.Header.Ranks)
}

// used are the plans of the schedules given to Use, by collective and root.
type used map[kind]map[int]*plan

func (u *used) add(p *plan, h *ir.Header) {
	k := kindOf(useFor(h.Collective))
	if *u == nil {
		*u = make(used)
	}
	if (*u)[k] == nil {
		(*u)[k] = make(map[int]*plan)
	}
	(*u)[k][h.Root] = p
}

// useFor returns the collective whose calls run a schedule of the given collective.
func useFor(collective string) string {
	if row, ok := ir.CollectiveNamed(collective); ok {
		return row.CalledBy()
	}
	return collective
}

// plan returns the plan given to Use for an operation, or nil if Use got no schedule of its kind.
func (u used) plan(k kind, root int) (*plan, error) {
	of := u[k]
	if p := of[root]; p != nil || len(of) == 0 {
		return p, nil
	}
	roots := slices.Sorted(maps.Keys(of))
	return nil, fmt.Errorf("no schedule for root %d: Use got schedules for roots %v", root, roots[:min(len(roots), maxNamed)])
}
