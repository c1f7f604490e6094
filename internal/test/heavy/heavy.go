// Package heavy says how much tests do, and what they draw. Some work takes too long for every day,
// and a draw of today must not fail a change of tomorrow. Tests that import package rapid import
// package heavy, too.
package heavy

import (
	"os"

	_ "github.com/schedgen/schedgen/internal/test/ballast" // whoever asks how much tests do is a test
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
