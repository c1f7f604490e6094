package terminal

// The exit codes.
const (
	Good        = 0
	No          = 1 // the answer is no: not verified, data wrong; or a run has failed
	Bad         = 2 // bad input: flags, names, files
	Interrupted = 130
)

// ExitCodes tells the exit codes in a help text.
const ExitCodes = "Exit codes: 0 good, 1 the answer is no or a run has failed, 2 bad input, 130 interrupted."

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
