package terminal

import (
	"io"
	"sync"
	"time"
)

// silence is how long a verb computes without a word before it shows what it computes.
const silence = 2 * time.Second

// work is what a verb computes at the moment. It is shown on a terminal after some silence, until
// the verb begins to print or shows a bar of its own. The methods do nothing if the work is nil.
type work struct {
	mu    sync.Mutex
	doing string
	shown Progress
	begin func() Progress // begins to show the work; nil once the work is no longer shown
}

// WithWork returns the streams of a verb that computes, and a function to call at its end.
func (s Stdio) WithWork() (Stdio, func()) {
	raw := s
	w := &work{doing: "computing", begin: func() Progress { return NewSpinner(raw, "") }}
	s.work = w
	if IsTerminal(s.Out) {
		s.Out = screen{s.Out, s.Out.(descriptor), w.end}
	}
	if IsTerminal(s.Err) {
		s.Err = screen{s.Err, s.Err.(descriptor), w.clear}
	}
	return s, w.watch()
}

// watch shows the work from the end of the silence on, until the result is called.
func (w *work) watch() (stop func()) {
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTimer(silence)
		defer t.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-t.C:
				w.draw()
				t.Reset(silence / 10)
			}
		}
	}()
	return func() {
		close(stopped)
		<-ended
		w.end()
	}
}

func (w *work) draw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begin == nil {
		return
	}
	if w.shown == (Progress{}) {
		w.shown = w.begin()
	}
	w.shown.Describe(w.doing)
}

// Does notes what the verb computes now, such as "building bcast/chain".
func (s Stdio) Does(doing string) { s.work.does(doing) }

func (w *work) does(doing string) {
	if w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.doing = doing
	}
}

// clear makes room for a line of output.
func (w *work) clear() {
	if w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.shown.Clear()
	}
}

// end removes the work from the terminal for good.
func (w *work) end() {
	if w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.shown.Clear()
		w.begin = nil
	}
}

// screen is a stream that is a terminal. It calls before ahead of each output.
type screen struct {
	io.Writer
	descriptor
	before func()
}

func (s screen) Write(p []byte) (int, error) {
	s.before()
	return s.Writer.Write(p)
}
