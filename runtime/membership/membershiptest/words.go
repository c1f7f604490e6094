package membershiptest

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/membership"
)

// Words are what a manager has said while it waited. The zero value has none.
type Words struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Log is where the manager says it.
func (w *Words) Log() *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

func (w *Words) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

// String returns all of them.
func (w *Words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// Await has m, whose clock is c, join in vain until it has said something.
func (w *Words) Await(t *testing.T, c *clock.Manual, m membership.Manager) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := m.Join(ctx, membership.Member{ID: membership.NewID()})
		done <- err
	}()
	for w.String() == "" {
		c.Advance(10 * time.Millisecond)
		time.Sleep(time.Millisecond) // the system answers in its own time
	}
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}
