package heavy

import "flag"

// Rapid sets how often package rapid tries every property, unless the heavy tests run. A TestMain
// calls it before the flags are parsed, so -rapid.checks takes precedence.
func Rapid(checks string) {
	if !Tests() {
		_ = flag.Set("rapid.checks", checks)
	}
}
