package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
)

func TestAdvanceCallsInOrderOfTime(t *testing.T) {
	var m clock.Manual
	start := m.Now()
	require.False(t, start.IsZero())
	type call struct {
		name string
		at   time.Duration
	}
	var calls []call
	note := func(name string) func() {
		return func() { calls = append(calls, call{name, m.Now().Sub(start)}) }
	}
	m.AfterFunc(2, note("b"))
	m.AfterFunc(1, note("a"))
	m.AfterFunc(2, note("c"))
	stopped := m.AfterFunc(2, note("never"))
	late := m.AfterFunc(1, note("late"))
	m.AfterFunc(1, func() { m.AfterFunc(2, note("asked for meanwhile")) })
	require.True(t, stopped.Stop())
	require.False(t, stopped.Stop())
	require.True(t, late.Reset(4))

	m.Advance(3)
	require.Equal(t, []call{{"a", 1}, {"b", 2}, {"c", 2}, {"asked for meanwhile", 3}}, calls)
	require.Equal(t, start.Add(3), m.Now())
	m.Advance(1)
	require.Equal(t, call{"late", 4}, calls[len(calls)-1])
	require.False(t, late.Reset(0))
	m.Advance(0)
	require.Len(t, calls, 6)
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		for _, c := range []struct {
			clock    *clock.Manual // nil: the system's, here the bubble's
			ends     time.Duration // of the context
			want     error
			wantTime time.Duration
		}{
			{nil, 3, nil, 2},
			{nil, 1, why, 1},
			{new(clock.Manual), 3, why, 3}, // no time passes
		} {
			var clk clock.Clock
			if c.clock != nil {
				clk = c.clock
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), c.ends, why)
			begun := time.Now()
			require.Equal(t, c.want, clock.Sleep(ctx, clock.OrSystem(clk), 2))
			require.Equal(t, c.wantTime, time.Since(begun))
			cancel()
		}
	})
}

func TestTimeoutByAClock(t *testing.T) {
	late, other := errors.New("late"), errors.New("something else")
	for _, c := range []struct {
		name string
		do   func(m *clock.Manual, parent context.CancelCauseFunc, cancel func())
		want error
	}{
		{"still time", func(m *clock.Manual, _ context.CancelCauseFunc, _ func()) { m.Advance(4) }, nil},
		{"no more time", func(m *clock.Manual, _ context.CancelCauseFunc, _ func()) { m.Advance(5) }, late},
		{"the parent ends first", func(m *clock.Manual, end context.CancelCauseFunc, _ func()) { end(other); m.Advance(5) }, other},
		{"given back first", func(m *clock.Manual, _ context.CancelCauseFunc, cancel func()) { cancel(); m.Advance(5) }, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m clock.Manual
			parent, end := context.WithCancelCause(t.Context())
			defer end(nil)
			ctx, cancel := clock.WithTimeoutCause(parent, &m, 5, late)
			defer cancel()
			c.do(&m, end, cancel)
			require.Equal(t, c.want, context.Cause(ctx))
			require.Equal(t, c.want != nil, ctx.Err() != nil)
		})
	}
}
