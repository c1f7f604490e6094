package cast

import (
	"fmt"
	"sync"
	"time"
)

// A sender or receiver waits in silence for firstNotice. Then a line says what it waits for.
// Further lines follow, each after twice as long as the one before, up to mostNotice.
const (
	firstNotice = 2 * time.Second
	mostNotice  = time.Minute
)

// waiting says in lines what is waited for, while it lasts.
type waiting struct {
	say   func(line string)
	words func() string // what is waited for, and why it has not come

	mu    sync.Mutex
	began time.Time
	pause time.Duration
	timer *time.Timer
	over  bool
}

// waitingFor begins to wait. words is called in a goroutine of its own, and nothing is said after
// stop.
func waitingFor(say func(line string), words func() string) (stop func()) {
	w := &waiting{say: say, words: words, began: time.Now(), pause: firstNotice}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(w.pause, w.tell)
	return w.stop
}

func (w *waiting) tell() {
	words := w.words()
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

// senderNews is what a receiver knows of the sender that it waits for.
type senderNews struct {
	at string

	mu    sync.Mutex
	why   error // why it has not been let in
	letIn bool
}

// note takes note of what [lobby.Config] tells as News.
func (s *senderNews) note(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why, s.letIn = why, why == nil
}

// words say what is known.
func (s *senderNews) words() string {
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
