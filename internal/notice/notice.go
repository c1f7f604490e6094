// Package notice logs what a process waits for if it waits long.
package notice

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
)

// First is how long a process waits before the first warning. Each further interval is twice the
// last, up to Most.
const (
	First = 2 * time.Second
	Most  = time.Minute
)

// Wait logs to log, while a process waits, what it waits for and why that has not come. It calls
// what for the text each time, in a goroutine of its own, and skips an empty text. The caller calls
// stop when the wait has ended; nothing is logged afterwards. log may be nil.
func Wait(c clock.Clock, log *slog.Logger, what func() string) (stop func()) {
	if log == nil {
		return func() {}
	}
	w := &wait{clock: clock.OrSystem(c), log: log, what: what, pause: First}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = w.clock.Now()
	w.timer = w.clock.AfterFunc(w.pause, w.announce)
	return w.stop
}

type wait struct {
	clock clock.Clock
	log   *slog.Logger
	what  func() string

	mu    sync.Mutex
	since time.Time
	pause time.Duration
	timer clock.Timer
	over  bool
}

func (w *wait) announce() {
	text := w.what()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	if text != "" {
		waited := w.clock.Now().Sub(w.since).Round(time.Second)
		w.log.LogAttrs(context.Background(), slog.LevelWarn, text, slog.Duration("waited", waited))
	}
	w.pause = min(2*w.pause, Most)
	w.timer.Reset(w.pause)
}

func (w *wait) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}

// Trouble is the newest reason why something does not come, for the function what of Wait. Several
// goroutines may use it. The zero value has no reason.
type Trouble struct {
	mu   sync.Mutex
	text string
}

// Set records a reason.
func (t *Trouble) Set(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = text
}

// String returns the newest reason.
func (t *Trouble) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text
}
