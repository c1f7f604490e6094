package cli

import (
	"github.com/schedgen/schedgen/internal/command"
)

// Reasons why a flag has no effect.
func noMessage(collective string) string { return withArticle(collective) + " has no message" }
func noRoot(collective string) string    { return withArticle(collective) + " has no root" }

// dropIdle removes the flags that have no effect on a collective, and prints a line for each.
func (f *paramFlags) dropIdle(collective string, std command.Stdio) {
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
			std.Idle(flag.name, flag.reason)
			*flag.value = nil
		}
	}
}
