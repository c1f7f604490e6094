package main

import "runtime/debug"

// castGarbage is by how much of what is in use the memory of a process that casts or receives may grow before garbage is collected, in percent. Nearly all of that
// are buffers that stay, so that the usual 100 would have it take twice as much as it needs.
const castGarbage = 25

// saveMemory has this process, which does nothing else, take less memory, unless its user says how much it may.
func saveMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(castGarbage)
	}
}
