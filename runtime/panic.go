package runtime

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/internal/core"
)

// PanicError is the failure of a communicator because the Kernel of a [Fold] has panicked at this
// rank. The call that waits for the operation then panics with a value that wraps the PanicError
// and prints the Kernel's stack. Later calls return the PanicError. Other ranks get ErrAborted with
// the text.
type PanicError = core.PanicError

// raised is the value of a panic that has passed from a Kernel to its caller.
type raised struct{ *PanicError }

// Error also prints the Kernel's stack, which is no longer the one of the goroutine.
func (r raised) Error() string { return fmt.Sprintf("%v\n\n%s", r.PanicError, r.Stack) }

// Unwrap returns the PanicError.
func (r raised) Unwrap() error { return r.PanicError }

// raise panics if err is the first news of a Kernel's panic. The caller has left the communicator
// in order, so its deferred calls may use it.
func (c *Comm) raise(err error) {
	if err != nil {
		c.raiseFirst(err)
	}
}

func (c *Comm) raiseFirst(err error) {
	var p *PanicError
	if errors.As(err, &p) && !c.raised.Swap(true) {
		panic(raised{p})
	}
}
