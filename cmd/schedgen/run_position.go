package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/status"
)

// position gives the status of a rank. It can be read while the rank works.
type position struct {
	rank  int
	start time.Time
	comm  atomic.Pointer[runtime.Comm] // nil before the rank has joined
}

func newPosition(rank int) *position { return &position{rank: rank, start: time.Now()} }

// report returns the current status of the rank.
func (p *position) report() status.Report {
	if comm := p.comm.Load(); comm != nil {
		return status.Tell(comm)
	}
	return status.Report{Process: p.rank, Note: fmt.Sprintf("has been joining for %.1f s", time.Since(p.start).Seconds())}
}
