package cli

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/cli/internal/crew"
)

// noError is the error of a command whose input was good, but whose answer is no or whose run has
// failed.
type noError struct{ msg string }

func (e *noError) Error() string { return e.msg }

// failed returns err as an error with exit code 1: the input was good, but the run failed.
func failed(err error) error { return &noError{err.Error()} }

// runError returns the error of a run. Its exit code is 1, unless the input was bad.
func runError(err error) error {
	var of *crew.Error
	var input crew.InputError
	if err == nil || errors.As(err, &of) && of.BadInput() || errors.As(err, &input) {
		return err
	}
	return failed(err)
}

// count spells a number of things, such as "1 rank" or "2 ranks".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
