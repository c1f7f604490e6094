package loggp

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/sim"
)

// Result holds the times when the calls of an operation return. A rank returns when its Done slots
// are set and everything that its rules have sent is handed over.
type Result struct {
	Makespan Time   // when the last rank returns, Never if some rank never does
	Returns  []Time // by rank, Never for a rank that does not return
}

// Run runs s with blocks of bytes bytes. A barrier has no blocks. It takes about the time of
// sorting the messages, and memory in proportion to the schedule. Run fails if s names ranks or
// slots that do not exist, or if parameters or bytes are negative or too large.
func Run(s *ir.Schedule, p Params, bytes int) (*Result, error) {
	r, err := sim.Run(sim.Of(s), sim.Config{Model: p.Model(), Bytes: bytes, Hosts: p.Hosts, Fold: p.Fold})
	if err != nil {
		return nil, fmt.Errorf("LogGP model of %s: %w", s.Name(), err)
	}
	return &Result{Makespan: r.Makespan, Returns: r.Returns}, nil
}
