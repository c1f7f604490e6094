// Package yield hands the processor over while a rank waits actively: to other
// processes, or to goroutines of this one, whoever the rank may wait for.
package yield

import (
	goruntime "runtime"
	"sync/atomic"
)

// ranks is how many communicators this process has open. Places on which Go
// code runs are the whole process's, and so is this.
var ranks atomic.Int32

// Open and Close tell that this process has one rank more or less.
func Open() { ranks.Add(1) }

// Close undoes an Open.
func Close() { ranks.Add(-1) }

// Shared reports whether this process has several ranks, which may wait for
// each other.
func Shared() bool { return ranks.Load() > 1 }

// Rank lets other ranks run: other processes, without telling the Go
// scheduler, which would wake idle threads of this one; or else its goroutines.
func Rank() {
	if Shared() {
		goruntime.Gosched()
		return
	}
	process()
}
