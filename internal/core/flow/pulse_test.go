package flow

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

const stall = 100

// due returns when the next probe is due.
func due(p *Pulse) moment.Time {
	began, span := p.Timer(stall)
	return *began + span
}

// The intervals between probes grow, up to a limit, until a slot is set.
func TestPulse(t *testing.T) {
	var p Pulse
	p.Begin()
	require.False(t, p.Tick(1000, stall), "a slot has been set")
	require.Equal(t, moment.Time(1100), due(&p))
	require.False(t, p.Tick(1099, stall))
	now := moment.Time(1100)
	for i, wait := range []moment.Time{200, 400, 800, 1600, 1600} { // the interval no longer grows
		require.True(t, p.Tick(now, stall))
		require.Equal(t, i+1, p.Probes())
		require.Equal(t, now+wait, due(&p))
		now += wait
	}
	p.Stir()
	require.False(t, p.Tick(now, stall))
	require.Zero(t, p.Probes())
	require.Equal(t, now+stall, due(&p))
}

// A stall of 0 means never.
func TestPulseNever(t *testing.T) {
	var p Pulse
	require.False(t, p.Tick(moment.Never-1, 0))
}

// Most probes are for the neighbour alone; the second, the fourth and so on go round.
func TestReach(t *testing.T) {
	var p Pulse
	var reach []uint32
	for range 9 {
		p = Pulse{probes: len(reach)}
		p.Tick(1<<40, 10)
		reach = append(reach, p.Reach(5))
	}
	require.Equal(t, []uint32{0, 3, 0, 3, 0, 0, 0, 3, 0}, reach)
	require.Zero(t, p.Reach(1))
}

// An inspection says how long the operation has been open, and how long nothing has moved.
func TestInspect(t *testing.T) {
	var p Pulse
	p.Begin()
	age, quiet := p.Inspect(1000)
	require.Zero(t, age)
	require.Zero(t, quiet)
	p.Look(1000)
	p.Look(2000)
	require.Equal(t, moment.Time(1000), p.Since())
	p.Tick(2000, 1e9)
	age, quiet = p.Inspect(5000)
	require.Equal(t, moment.Time(4000), age)
	require.Equal(t, moment.Time(3000), quiet)
	p.Stir()
	_, quiet = p.Inspect(5000)
	require.Zero(t, quiet, "it has just moved")
	var q Pulse
	q.Look(7)
	p.Normalize(9)
	q.Normalize(9)
	require.Equal(t, p, q)
}
