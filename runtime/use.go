package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/windows"
	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/verify"
)

// Use makes s what this communicator runs: a broadcast's or an anycast's
// schedule for all broadcasts from its root, a barrier's for all barriers. It
// is generated code (schedgen emit --format go), or a schedule of any other
// origin by [machine.Of]. Every rank must call it with the same schedule,
// between the same operations.
//
// Use proves the schedule first, by all checks of package verify. If one does not hold, the
// error wraps ErrInput and the [verify.Failure], and nothing changes. To use a schedule all the
// same, call [Comm.UseUnverified].
//
// A process proves a schedule once, for all its ranks and communicators; nothing is sent for
// it, and other goroutines may use the communicator meanwhile. On one core the proof of a large
// barrier or acknowledged broadcast takes 5 ms for 64 ranks, 30 ms for 1,024, a second and 20 MB for
// 4,096, and ten seconds and 80 MB for 16,384. Generated code is not proved again:
// schedgen emit has proved the schedule, and refuses one that does not verify.
//
// A schedule is for one number of ranks, one root and one number of chunks:
// messages of whatever length are cut into as many chunks as it has, and
// Config.Chunk does not count. If ranks or chunks are not those of the
// communicator and its Config, the error wraps ErrInput and nothing changes.
// Once there is a schedule for one root, a broadcast from a root without one
// is an error. A later schedule for the same root takes the place of the
// earlier one. Where ranks have windows the signals of a barrier are flags, in the
// places that s.Places says. If there are no such ranks or signals, the error wraps
// ErrInput. Errors and [Comm.State] ask s.Program who waits for whom, in any goroutine.
func (c *Comm) Use(s *machine.Schedule) error {
	var terms verify.Terms
	var unproved error
	if c.usable(s) == nil {
		terms, unproved = proved(s)
	}
	return c.use(s, terms, unproved)
}

// UseUnverified is [Comm.Use] of a schedule of which nothing is proved. If it is wrong, calls may
// wait for ever, return too early or bring wrong data, at some ranks and not at others.
func (c *Comm) UseUnverified(s *machine.Schedule) error { return c.use(s, verify.Terms{}, nil) }

// use makes s what the communicator runs, unless something is wrong with it: unproved, if s fits.
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
	if terms.Position { // then it folds by one tree, which the program has chosen
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

// placesOf returns where the signals of own's rank may stand as flags, nil if none may.
func placesOf(s *machine.Schedule, own *ir.Program) (*windows.Places, error) {
	if s.Places == nil || !s.Header.Synchronizes() {
		return nil, nil
	}
	places := s.Places(own.Rank)
	return &places, places.Check(own, s.Header.Ranks)
}

// used are the plans of the schedules that were given, by collective and root.
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

// useFor returns the collective whose calls run a schedule of the given one.
func useFor(collective string) string {
	if row, ok := ir.CollectiveNamed(collective); ok {
		return row.CalledBy()
	}
	return collective
}

// plan returns the plan that was given for an operation, nil if none was given
// for operations of its kind.
func (u used) plan(k kind, root int) (*plan, error) {
	of := u[k]
	if p := of[root]; p != nil || len(of) == 0 {
		return p, nil
	}
	roots := slices.Sorted(maps.Keys(of))
	return nil, fmt.Errorf("no schedule for root %d: Use was given those for %v", root, roots[:min(len(roots), maxNamed)])
}
