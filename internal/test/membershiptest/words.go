package membershiptest

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/membership"
)

// Words are the warnings of a waiting manager. The zero value has none.
type Words struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Log returns the logger for the manager.
func (w *Words) Log() *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

func (w *Words) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

// String returns all warnings.
func (w *Words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// Await makes m, whose clock is c, try to join until it has logged a warning.
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
