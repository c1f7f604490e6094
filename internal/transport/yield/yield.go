// Package yield hands the processor over while a rank waits actively: to other processes, or to
// goroutines of this process, whichever the rank may wait for.
package yield

import (
	goruntime "runtime"
	"sync/atomic"
)

// Process counts the ranks of a process, which may wait for each other. GOMAXPROCS applies to the
// whole process.
type Process struct{ ranks atomic.Int32 }

// this is the process of the program.
var this Process

// This returns the process of the program. Code that builds a waiter or a transport calls it once
// and passes it on.
func This() *Process { return &this }

// Shared reports whether the process has several ranks.
func (p *Process) Shared() bool { return p.ranks.Load() > 1 }

// Yield lets other ranks run. If the process has several ranks, it yields to goroutines. Otherwise
// it yields to other processes without telling the Go scheduler, which would wake idle threads of
// this process.
func (p *Process) Yield() {
	if p.Shared() {
		goruntime.Gosched()
		return
	}
	process()
}
