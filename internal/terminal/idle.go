package terminal

import "fmt"

// A flag without effect is not an error: a line on the standard error says that it is ignored, and
// the command continues. So a user who tries several collectives or transports can leave the other
// flags as they are. A flag that asks for something which would not be done is an error.

// Idle prints that a flag is ignored, and why.
func (s Stdio) Idle(flag, reason string) {
	s.Note(fmt.Sprintf("--%s is ignored: %s", flag, reason))
}

// Note prints a line for people on the standard error, after the name of the program.
func (s Stdio) Note(text string) { fmt.Fprintf(s.Err, "%s: %s\n", s.Program, text) }
