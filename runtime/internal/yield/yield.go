// Package yield hands the processor over while a rank waits actively: to other
// processes, or to goroutines of this one, whoever the rank may wait for.
package yield

import (
	goruntime "runtime"
	"sync/atomic"
)

// Process counts the ranks of a process, which may wait for each other: places on
// which Go code runs are the whole process's.
type Process struct{ ranks atomic.Int32 }

// this is the process that the program runs in.
var this Process

// This returns the process that the program runs in. Whoever builds a waiter or a
// transport asks once and passes it on.
func This() *Process { return &this }

// Shared reports whether the process has several ranks.
func (p *Process) Shared() bool { return p.ranks.Load() > 1 }

// Yield lets other ranks run: other processes, without telling the Go
// scheduler, which would wake idle threads of this one; or else its goroutines.
func (p *Process) Yield() {
	if p.Shared() {
		goruntime.Gosched()
		return
	}
	process()
}
