package terminal

import (
	"errors"
	"fmt"
	"os/exec"
)

// ExitError ends the command with an exit code and without a message: another program has printed
// why.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// Ended returns the error of a program that the command has run, as an [*ExitError] if the program
// has ended with an exit code.
func Ended(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return &ExitError{exit.ExitCode()}
	}
	return err
}
