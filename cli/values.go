package cli

import (
	"fmt"
	"slices"
	"strings"
)

// qualified returns the full name of an algorithm of the collective: bcast/mcast-chain for
// mcast-chain. It returns any other name as it is.
func qualified(collective, name string) string {
	if full := collective + "/" + name; slices.Contains(candidates(collective, true), full) {
		return full
	}
	return name
}

// oneOf returns an error unless the flag's value is one of the options.
func oneOf(flag, value string, options []string) error {
	if slices.Contains(options, value) {
		return nil
	}
	return fmt.Errorf("--%s=%s: must be one of %s", flag, value, strings.Join(options, ", "))
}
