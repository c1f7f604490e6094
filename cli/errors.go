package cli

import (
	"errors"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/terminal"
)

// runError returns the error of a run. Its exit code is 1, unless the input was bad.
func runError(err error) error {
	var of *crew.Error
	var input crew.InputError
	if err == nil || errors.As(err, &of) && of.BadInput() || errors.As(err, &input) {
		return err
	}
	return terminal.Failed(err)
}
