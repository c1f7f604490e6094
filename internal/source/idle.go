package source

import (
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/ir"
)

// NoMessage is the reason why a flag about messages has no effect on a collective.
func NoMessage(collective string) string { return words.WithArticle(collective) + " has no message" }

// NoRoot is the reason why a flag about roots has no effect on a collective.
func NoRoot(collective string) string { return words.WithArticle(collective) + " has no root" }

// DropIdle removes the flags that have no effect on a collective, and prints a line for each.
func (f *Flags) DropIdle(collective string, std terminal.Stdio) {
	row, _ := ir.CollectiveNamed(collective)
	for _, flag := range []struct {
		name   string
		acts   bool
		reason string
		value  **int
	}{
		{"root", row.Rooted, NoRoot(collective), &f.Root},
		{"origin", row.Rooted, NoRoot(collective), &f.Origin},
		{"chunks", row.Blocks != nil, NoMessage(collective), &f.Chunks},
	} {
		if *flag.value != nil && !flag.acts {
			std.Idle(flag.name, flag.reason)
			*flag.value = nil
		}
	}
}
