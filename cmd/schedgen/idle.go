package main

import "fmt"

// A flag that has nothing to act on changes nothing, so a line on the standard
// error says so and the command goes on: whoever tries several collectives or
// transports need not change the other flags each time. A flag that asks for
// something that would not be done stays an error.

// idle says that a flag has nothing to act on.
func (s stdio) idle(flag, reason string) {
	fmt.Fprintf(s.Err, "schedgen: --%s is ignored: %s\n", flag, reason)
}

// Why flags have nothing to act on.
func noMessage(collective string) string { return withArticle(collective) + " has no message" }
func noRoot(collective string) string    { return withArticle(collective) + " has no root" }

// dropIdle takes away the flags that have nothing to act on in a collective.
func (f *paramFlags) dropIdle(collective string, std stdio) {
	row := rowOf(collective)
	for _, flag := range []struct {
		name   string
		acts   bool
		reason string
		value  **int
	}{
		{"root", row.Rooted, noRoot(collective), &f.Root},
		{"origin", row.Rooted, noRoot(collective), &f.Origin},
		{"chunks", row.Blocks != nil, noMessage(collective), &f.Chunks},
	} {
		if *flag.value != nil && !flag.acts {
			std.idle(flag.name, flag.reason)
			*flag.value = nil
		}
	}
}
