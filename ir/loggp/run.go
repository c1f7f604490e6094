package loggp

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/fixpoint"
)

// Result says when the calls of an operation return: a rank's when its done
// slots are set and all that its rules have asked for is handed over.
type Result struct {
	Makespan Time   // when the last rank returns, Never if some rank never does
	Returns  []Time // by rank, Never for one that does not return
}

// Run runs s with a message of the given number of bytes; a barrier has none. Its
// time is about that of sorting the messages, its memory in proportion to the
// schedule. It fails if s names ranks or slots that do not exist, or if
// parameters or bytes are negative or too large.
func Run(s *ir.Schedule, p Params, bytes int) (*Result, error) {
	e, err := newEngine(s, p, bytes)
	if err == nil {
		err = e.run()
	}
	if err != nil {
		return nil, fmt.Errorf("LogGP model of %s: %w", s.Name(), err)
	}
	return e.result(), nil
}

func newEngine(s *ir.Schedule, p Params, bytes int) (*engine, error) {
	l, err := fixpoint.NewLayout(s)
	if err != nil {
		return nil, err
	}
	w, err := fixpoint.NewWaiters(s, l)
	if err != nil {
		return nil, err
	}
	if err := p.check(s, bytes); err != nil {
		return nil, err
	}
	if !s.HasMessage() {
		bytes = 0
	}
	return &engine{
		s: s, l: l, w: w, p: p, wire: p.onWire(bytes, s.Chunks),
		set: make([]bool, l.Slots()), done: make([]bool, l.Slots()), missing: make([]int32, l.Rules()), ranks: make([]rank, s.Ranks),
	}, nil
}

func (e *engine) result() *Result {
	r := &Result{Returns: make([]Time, len(e.ranks))}
	for i := range e.ranks {
		r.Returns[i] = e.ranks[i].returns
	}
	r.Makespan = slices.Max(r.Returns)
	if slices.Contains(r.Returns, Never) {
		r.Makespan = Never
	}
	return r
}
