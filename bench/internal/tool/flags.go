package tool

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// List returns the function of a flag that takes several values, separated by commas. The function
// one parses each value.
func List[T any](into *[]T, one func(string) (T, error)) func(string) error {
	return func(text string) error {
		var all []T
		for part := range strings.SplitSeq(text, ",") {
			v, err := one(part)
			if err != nil {
				return err
			}
			all = append(all, v)
		}
		*into = all
		return nil
	}
}

// Number returns a function that parses a number within bounds.
func Number(least, most int) func(string) (int, error) {
	return func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("%q is not in %d..%d", text, least, most)
		}
		return n, nil
	}
}

// OneOf returns a function that accepts one of the given words.
func OneOf(words []string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("%q is none of %s", text, strings.Join(words, ", "))
		}
		return text, nil
	}
}
