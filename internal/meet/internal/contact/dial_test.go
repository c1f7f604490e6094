package contact

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
)

// answer is the result of an attempt.
type answer struct {
	after time.Duration // from its start; negative: never
	err   error
	stays bool // it does not give up when it is canceled
}

// ways are the results of successive attempts, and what became of them.
type ways struct {
	answers []answer
	mu      sync.Mutex      // guards the fields below
	begun   []time.Duration // start of each attempt
	start   time.Time
	closed  int
}

type line struct {
	net.Conn
	w *ways
}

func (l line) Close() error {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.closed++
	return nil
}

// begin returns the result of the next attempt.
func (w *ways) begin() answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = append(w.begun, time.Since(w.start))
	if len(w.begun) > len(w.answers) {
		return answer{after: -1}
	}
	return w.answers[len(w.begun)-1]
}

func (w *ways) attempt(ctx context.Context) (net.Conn, error) {
	a := w.begin()
	var due <-chan time.Time
	if a.after >= 0 {
		due = time.After(a.after)
	}
	called := ctx.Done()
	if a.stays {
		called = nil
	}
	select {
	case <-due:
	case <-called:
		return nil, ctx.Err()
	}
	if a.err != nil {
		return nil, a.err
	}
	return line{w: w}, nil
}

func TestRaceOfAttempts(t *testing.T) {
	const ms = time.Millisecond
	refused, late := errors.New("refused"), errors.New("too late")
	for _, c := range []struct {
		name    string
		answers []answer
		err     error
		after   time.Duration
		begun   []time.Duration
		closed  int
	}{
		{"at once", []answer{{}}, nil, 0, []time.Duration{0}, 0},
		{"slowly", []answer{{after: 39 * ms}}, nil, 39 * ms, []time.Duration{0}, 0},
		{"the first packet is lost", []answer{{after: time.Second}, {after: ms}}, nil, 41 * ms, []time.Duration{0, 40 * ms}, 0},
		{"two are", []answer{{after: -1}, {after: -1}, {}}, nil, 120 * ms, []time.Duration{0, 40 * ms, 120 * ms}, 0},
		{"the first is the first all the same", []answer{{after: 100 * ms}, {after: 80 * ms, stays: true}}, nil, 100 * ms, []time.Duration{0, 40 * ms}, 1},
		{"refused", []answer{{err: refused}}, refused, 0, []time.Duration{0}, 0},
		{"the second is refused", []answer{{after: -1}, {after: ms, err: refused}}, refused, 41 * ms, []time.Duration{0, 40 * ms}, 0},
		{"no answer", []answer{{after: 10 * time.Second, err: late}}, late, 10 * time.Second, []time.Duration{0, 40 * ms, 120 * ms, 280 * ms, 600 * ms, 1240 * ms, 2520 * ms}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &ways{answers: c.answers, start: time.Now()}
				conn, err := race(t.Context(), clock.System{}, w.attempt)
				require.ErrorIs(t, err, c.err)
				require.Equal(t, c.err == nil, conn != nil)
				require.Equal(t, c.after, time.Since(w.start))
				time.Sleep(time.Minute) // virtual: until the others are over
				w.mu.Lock()
				defer w.mu.Unlock()
				require.Equal(t, c.begun, w.begun)
				require.Equal(t, c.closed, w.closed)
			})
		})
	}
}

func TestRaceEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		w := &ways{start: time.Now()}
		_, err := race(ctx, clock.System{}, w.attempt)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 150*time.Millisecond, time.Since(w.start))
	})
}
