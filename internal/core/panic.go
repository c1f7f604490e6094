package core

import (
	"fmt"
	"runtime/debug"
)

// PanicError says that the Kernel of a [Fold] has panicked. The core fails by it.
type PanicError struct {
	Fold  string // the name of the Fold
	Value any    // the value of the panic
	Stack []byte // of the goroutine, when the Kernel panicked
}

// Error names the operation and the value.
func (e *PanicError) Error() string {
	return fmt.Sprintf("the function of the operation %q has panicked: %v", e.Fold, e.Value)
}

// apply makes dst from a and b.
func (f *Fold) apply(dst, a, b []byte) error {
	if f.Trusted {
		f.Kernel(dst, a, b)
		return nil
	}
	return f.guarded(dst, a, b)
}

// guarded is apply for a Kernel of the program. The panic must not pass through this package and
// its caller, since both hold locks and have half done what they do.
func (f *Fold) guarded(dst, a, b []byte) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			// The Kernel has called runtime.Goexit, and nothing can keep this goroutine, which
			// holds locks, from ending. The program would hang.
			f := fmt.Sprintf("the function of the operation %q has ended its goroutine, as t.FailNow and runtime.Goexit do\n\n%s", f.Name, debug.Stack())
			go func() { panic(f) }()
			select {}
		}
		err = &PanicError{Fold: f.Name, Value: v, Stack: debug.Stack()}
	}()
	f.Kernel(dst, a, b)
	returned = true
	return nil
}
