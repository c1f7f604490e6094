package remote

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// silentError says that a host has made no progress for too long.
type silentError struct{ patience time.Duration }

func (e *silentError) Error() string { return fmt.Sprintf("no answer within %v", e.patience) }

// watch ends a session that makes no progress for longer than its patience.
type watch struct {
	timer    *time.Timer
	patience time.Duration
	expired  atomic.Bool
}

func newWatch(patience time.Duration, end func(error)) *watch {
	w := &watch{patience: patience}
	w.timer = time.AfterFunc(patience, func() {
		w.expired.Store(true)
		end(w.failure())
	})
	return w
}

func (w *watch) failure() error { return &silentError{w.patience} }

// allow restarts the timer, with d added once.
func (w *watch) allow(d time.Duration) { w.timer.Reset(w.patience + d) }

// progress restarts the timer.
func (w *watch) progress() { w.timer.Reset(w.patience) }

func (w *watch) stop() { w.timer.Stop() }

// watchedWriter calls progress after every write.
type watchedWriter struct {
	io.Writer
	watch *watch
}

func (w watchedWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	w.watch.progress()
	return n, err
}
