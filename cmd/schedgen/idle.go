package main

import (
	"fmt"

	"github.com/schedgen/schedgen/schedule"
)

// A flag that has nothing to act on changes nothing, so a line on the standard
// error says so and the command goes on: whoever tries several collectives or
// transports need not change the other flags each time. A flag that asks for
// something that would not be done stays an error.

// idle says that a flag has nothing to act on.
func (s stdio) idle(flag, reason string) {
	fmt.Fprintf(s.Err, "schedgen: --%s is ignored: %s\n", flag, reason)
}

// Why flags have nothing to act on.
const (
	noMessage = "a barrier has no message"
	noRoot    = "a barrier has no root"
)

// dropIdle takes away the flags that have nothing to act on in a collective.
func (f *paramFlags) dropIdle(collective string, std stdio) {
	if collective != schedule.Barrier {
		return
	}
	for _, flag := range []struct {
		name, reason string
		value        **int
	}{{"root", noRoot, &f.Root}, {"origin", noRoot, &f.Origin}, {"chunks", noMessage, &f.Chunks}} {
		if *flag.value != nil {
			std.idle(flag.name, flag.reason)
			*flag.value = nil
		}
	}
}
