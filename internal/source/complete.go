package source

import (
	"github.com/schedgen/schedgen/internal/command/complete"
	"github.com/schedgen/schedgen/schedule"
)

// Words returns the algorithms of a collective for completion, or all algorithms if it has none.
func Words(collective string) []complete.Word {
	var all, those []complete.Word
	for _, a := range schedule.Algorithms() {
		word := complete.Word{Text: a.Name, Help: a.Summary}
		all = append(all, word)
		if a.Collective == collective {
			those = append(those, word)
		}
	}
	if len(those) > 0 {
		return those
	}
	return all
}
