package cli

import "fmt"

// A flag without effect is not an error: a line on the standard error says that it is ignored, and
// the command continues. So a user who tries several collectives or transports can leave the other
// flags as they are. A flag that asks for something which would not be done is an error.

// idle prints that a flag is ignored, and why.
func (s stdio) idle(flag, reason string) {
	fmt.Fprintf(s.Err, "schedgen: --%s is ignored: %s\n", flag, reason)
}

// Reasons why a flag has no effect.
func noMessage(collective string) string { return withArticle(collective) + " has no message" }
func noRoot(collective string) string    { return withArticle(collective) + " has no root" }

// dropIdle removes the flags that have no effect on a collective, and prints a line for each.
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
