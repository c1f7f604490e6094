package command

import (
	"fmt"
)

// NoError is the error of a command whose input was good, but whose answer is no or whose run has
// failed.
type NoError struct{ msg string }

func (e *NoError) Error() string { return e.msg }

// Negative returns an error with exit code 1 and the given text: the answer of the command is no.
func Negative(text string) error { return &NoError{text} }

// Failed returns err as an error with exit code 1: the input was good, but the run failed. It returns
// nil for nil.
func Failed(err error) error {
	if err == nil {
		return nil
	}
	return &NoError{err.Error()}
}

// Count spells a number of things, such as "1 rank" or "2 ranks".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
