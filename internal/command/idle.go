package command

import "fmt"

// A flag without effect is not an error: a line on the standard error says that it is ignored, and
// the command continues. So a user who tries several collectives or transports can leave the other
// flags as they are. A flag that asks for something which would not be done is an error.

// Idle prints that a flag is ignored, and why.
func (s Stdio) Idle(flag, reason string) {
	fmt.Fprintf(s.Err, "%s: --%s is ignored: %s\n", s.name, flag, reason)
}
