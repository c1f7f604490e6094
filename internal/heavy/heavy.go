// Package heavy says how much tests do. Some work takes too long for every day, and some machines
// are slow.
package heavy

import (
	"os"

	_ "github.com/schedgen/schedgen/internal/ballast" // whoever asks how much tests do is a test
)

// Tests reports whether SCHEDGEN_HEAVY is 1.
func Tests() bool { return os.Getenv("SCHEDGEN_HEAVY") == "1" }

// Or returns heavy if the heavy tests run, and else daily.
func Or[T any](daily, heavy T) T {
	if Tests() {
		return heavy
	}
	return daily
}
