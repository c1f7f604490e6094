// Package heavy says how much tests are to do: what takes too long for every day, or less than
// that where everything is slow.
package heavy

import "os"

// Tests reports whether SCHEDGEN_HEAVY is 1.
func Tests() bool { return os.Getenv("SCHEDGEN_HEAVY") == "1" }

// Or returns what the heavy tests take if they are to run, otherwise what those of every day take.
func Or[T any](daily, heavy T) T {
	if Tests() {
		return heavy
	}
	return daily
}
