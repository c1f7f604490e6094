package terminal

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A verb that computes tells what it does after two seconds of silence, until it prints or ends.
func TestWorkShowsAfterSilence(t *testing.T) {
	for name, last := range map[string]func(w *work, stop func()){
		"end":    func(_ *work, stop func()) { stop() },
		"output": func(w *work, stop func()) { w.end(); time.Sleep(time.Minute); stop() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				w := &work{doing: "computing", begin: func() Progress { return Progress{newSpinner(&out, "")} }}
				text := func() string { // passing time does not order memory accesses, but a lock does
					w.mu.Lock()
					defer w.mu.Unlock()
					return out.String()
				}
				stop := w.watch()
				w.does("building bcast/chain")
				time.Sleep(silence - 1)
				synctest.Wait()
				require.Empty(t, text())
				time.Sleep(2 * time.Nanosecond)
				synctest.Wait()
				require.Contains(t, text(), "building bcast/chain")
				w.does("drawing bcast/chain")
				time.Sleep(silence)
				synctest.Wait()
				require.Contains(t, text(), "drawing bcast/chain")
				shown := text()
				last(w, stop)
				synctest.Wait()
				require.NotContains(t, strings.TrimPrefix(text(), shown), "drawing", "nothing after the end")
			})
		})
	}
}

func TestNoWork(*testing.T) {
	var w *work // of verbs that do not compute
	w.does("anything")
	w.clear()
	w.end()
}
