package cast

import (
	"os"
	"runtime/debug"
)

const (
	// garbagePercent is the GOGC of a process that only casts. Nearly all of its memory is buffers
	// that stay, so the usual 100 percent would take twice the needed memory.
	garbagePercent = 25
	// settledPieces is the number of pieces after which these buffers exist. Before that, more
	// garbage collections would find nothing.
	settledPieces = 4
)

// saveMemory returns a function that calls show, and that lowers GOGC once the buffers exist. If
// alone is false or the user has set GOGC, it returns show.
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
