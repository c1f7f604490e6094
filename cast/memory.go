package cast

import (
	"os"
	"runtime/debug"
)

const (
	// garbagePercent is the share of the memory in use by which the memory of a process that only
	// casts may grow before garbage is collected. Nearly all of that memory is buffers that stay, so
	// the usual 100 percent would take twice the needed memory.
	garbagePercent = 25
	// settledPieces is the number of pieces after which these buffers exist. Before that, while all
	// hosts begin at the same time, more collections would find nothing.
	settledPieces = 4
)

// saveMemory returns show, and makes this process take less memory as soon as its buffers exist.
// The user's GOGC has precedence.
func saveMemory(alone bool, show func(Progress)) func(Progress) {
	if !alone || os.Getenv("GOGC") != "" {
		return show
	}
	pieces := 0
	return func(p Progress) {
		if pieces++; pieces == settledPieces {
			debug.SetGCPercent(garbagePercent)
		}
		show(p)
	}
}
