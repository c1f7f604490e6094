package main

import (
	"runtime/debug"

	"github.com/schedgen/schedgen/cast"
)

const (
	// castGarbage is by how much of what is in use the memory of a process that casts or receives may grow before garbage is collected, in percent. Nearly all of that
	// are buffers that stay, so that the usual 100 would have it take twice as much as it needs.
	castGarbage = 25
	// castSettled is after how many pieces these buffers are there. Before that, while all hosts begin at the same time, more collections would find nothing.
	castSettled = 4
)

// saveMemory returns what shows how far a cast has come, and has this process, which does nothing else, take less memory from when its buffers are
// there on, unless its user says how much it may.
func saveMemory(getenv func(string) string, show func(cast.Progress)) func(cast.Progress) {
	if getenv("GOGC") != "" {
		return show
	}
	pieces := 0
	return func(p cast.Progress) {
		if pieces++; pieces == castSettled {
			debug.SetGCPercent(castGarbage)
		}
		show(p)
	}
}
