package cast

import (
	"fmt"
	"sync"
	"time"
)

// A sender or receiver that waits prints a line that says what it waits for. The first line comes
// after firstNotice. The time between lines doubles, up to mostNotice.
const (
	firstNotice = 2 * time.Second
	mostNotice  = time.Minute
)

// waiting prints lines that say what a sender or receiver waits for.
type waiting struct {
	say      func(line string)
	describe func() string // says what has not come, and why

	mu    sync.Mutex
	began time.Time
	pause time.Duration
	timer *time.Timer
	over  bool
}

// waitingFor starts printing lines by say until stop is called. It calls describe in another
// goroutine.
func waitingFor(say func(line string), describe func() string) (stop func()) {
	w := &waiting{say: say, describe: describe, began: time.Now(), pause: firstNotice}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(w.pause, w.report)
	return w.stop
}

func (w *waiting) report() {
	words := w.describe()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.say(fmt.Sprintf("waiting for %v: %s", time.Since(w.began).Round(time.Second), words))
	w.pause = min(2*w.pause, mostNotice)
	w.timer.Reset(w.pause)
}

func (w *waiting) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}

// senderNews holds what a receiver knows of the sender for which it waits.
type senderNews struct {
	at string

	mu    sync.Mutex
	why   error // why the receiver has not been let in
	letIn bool
}

// note records news of the lobby; see News in [lobby.Config].
func (s *senderNews) note(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why, s.letIn = why, why == nil
}

// describe says what is known.
func (s *senderNews) describe() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.letIn:
		return fmt.Sprintf("the sender at %s has let this host in, and waits for others or serves them", s.at)
	case s.why != nil:
		return fmt.Sprintf("the sender at %s cannot be reached so far: %v", s.at, s.why)
	}
	return fmt.Sprintf("nobody has answered at %s so far", s.at)
}
