package options

import (
	"fmt"
	"slices"
	"strings"
)

// Within returns an error unless all values of a flag are numbers within bounds.
func Within(flag string, values []int, least, most int) error {
	for _, n := range values {
		if n < least || n > most {
			return fmt.Errorf("--%s=%d: must be in %d..%d", flag, n, least, most)
		}
	}
	return nil
}

// Among returns an error unless all values of a flag are known words.
func Among(flag string, values, known []string) error {
	for _, word := range values {
		if !slices.Contains(known, word) {
			return fmt.Errorf("--%s=%s: must be one of %s", flag, word, strings.Join(known, ", "))
		}
	}
	return nil
}

// Or returns the values of a flag, or its default if it was not given.
func Or[T any](given []T, otherwise ...T) []T {
	if given != nil {
		return given
	}
	return otherwise
}
