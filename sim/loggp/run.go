package loggp

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/sim"
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
	r, err := sim.Run(sim.Of(s), sim.Config{Model: p.Model(), Bytes: bytes, Hosts: p.Hosts, Fold: p.Fold})
	if err != nil {
		return nil, fmt.Errorf("LogGP model of %s: %w", s.Name(), err)
	}
	return &Result{Makespan: r.Makespan, Returns: r.Returns}, nil
}
