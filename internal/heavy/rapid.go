package heavy

import "flag"

// Rapid has package rapid try every property so many times unless the heavy tests run. A TestMain
// calls it before the flags are parsed, so -rapid.checks says otherwise.
func Rapid(checks string) {
	if !Tests() {
		_ = flag.Set("rapid.checks", checks) // a program without rapid has no such flag
	}
}
