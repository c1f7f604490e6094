package crew

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/status"
)

// Position gives the status of a rank. It can be read while the rank works.
type Position struct {
	rank  int
	start time.Time
	comm  atomic.Pointer[runtime.Comm] // nil before the rank has joined
}

// NewPosition returns the position of a rank that has not joined yet.
func NewPosition(rank int) *Position { return &Position{rank: rank, start: time.Now()} }

// Report returns the current status of the rank.
func (p *Position) Report() status.Report {
	if comm := p.comm.Load(); comm != nil {
		return status.Tell(comm)
	}
	return status.Report{Process: p.rank, Note: fmt.Sprintf("has been joining for %.1f s", time.Since(p.start).Seconds())}
}
