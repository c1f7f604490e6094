package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/schedule/selection"
)

// Turn says who performs the next blocking calls of a [Shape]: the communicator, or the MPI of the
// program.
type Turn struct {
	MPI   bool // the MPI performs them
	Calls int  // how many calls, at least 1; before the next one, all ranks ask again
	Timed bool // there is one call, all ranks have asked about it, and Took is called after it
}

// Turn returns who performs the next blocking calls like s, with Config.MPI. exact is Exact of the
// Fold of a call that folds. All ranks get the same answer if they ask about the same between the
// same operations. Without Config.Learn, the rules answer, by their algorithm [selection.MPI]. With
// it, the MPI is among the algorithms that take turns, and the caller must ask before each call that
// is not among the Calls of an answer before; Turn and Took are then operations of the communicator.
// Blocks whose lengths not all ranks know are never the MPI's.
func (c *Comm) Turn(ctx context.Context, s Shape, exact bool) (Turn, error) {
	if ctx == nil {
		return Turn{}, c.refuse(noContext("turn"))
	}
	k := c.plans.kindOf(s.Collective)
	if !c.cfg.MPI || k < 0 {
		return Turn{}, c.refuse(fmt.Errorf("%w: Turn: %q is no collective, or Config.MPI is not set", ErrInput, s.Collective))
	}
	row := c.plans.row(k)
	if err := s.check(row, c.size); err != nil {
		return Turn{}, c.refuse(fmt.Errorf("%w: Turn: %s: %w", ErrInput, s.Collective, err))
	}
	f := s.form(row, c.size)
	f.exact = exact
	if c.learned == nil {
		of := c.caseOf(s.Collective, s.Bytes)
		of.Ordered = s.Ordered
		return Turn{MPI: !f.local() && c.leftByRules(of), Calls: 1}, nil
	}
	if !c.occupy() {
		return Turn{}, ErrBusy
	}
	defer c.vacate()
	return c.learned.turn(ctx, k, s.Bytes, f)
}

// Took tells how long the call has taken that Turn wants to be timed, from the answer of Turn until
// the call has returned. All ranks call it before any other operation of the communicator.
func (c *Comm) Took(ctx context.Context, took time.Duration) error {
	if ctx == nil {
		return c.refuse(noContext("took"))
	}
	if c.learned == nil {
		return c.refuse(fmt.Errorf("%w: Took: no call is timed", ErrInput))
	}
	if !c.occupy() {
		return ErrBusy
	}
	defer c.vacate()
	return c.learned.took(ctx, core.Time(took))
}

// leftByRules reports whether rules leave a case to the MPI.
func (c *Comm) leftByRules(of selection.Case) bool {
	of.MPI = true
	d, ok := c.cfg.source.decide(c.cfg.Rules, of)
	return ok && d.Rule.Algorithm == selection.MPI
}

// Ran returns the name of the algorithm of the last collective that this rank has called or
// started, such as bcast/chain. It is "" before the first one.
func (c *Comm) Ran() string {
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	if c.ran == nil {
		return ""
	}
	return c.ran.Name
}
