package mismatch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
	"github.com/schedgen/schedgen/internal/deep"
)

const patience = moment.Time(100)

// A rank that knows one side waits for two answers, counted from the next tick.
func TestWaitForTheOtherSide(t *testing.T) {
	var d Dispute
	require.False(t, d.Tick(10, patience))
	d.Open(3, "one side")
	require.True(t, d.IsOpen())
	require.True(t, d.Awaits(3))
	require.False(t, d.Awaits(2))
	require.Zero(t, *d.Until(), "the next tick begins the wait")
	require.False(t, d.Tick(10, patience))
	require.Equal(t, 10+2*patience, *d.Until())
	require.False(t, d.Tick(*d.Until()-1, patience))
	require.True(t, d.Tick(*d.Until(), patience))
	about, text := d.Mismatch()
	require.Equal(t, 3, about)
	require.Equal(t, "one side", text)
}

// If the other side becomes known meanwhile, one answer less is awaited.
func TestBothSides(t *testing.T) {
	var d Dispute
	d.Open(3, "one side")
	d.Tick(10, patience)
	d.Complete(3, "both sides", patience)
	require.False(t, d.Awaits(3))
	require.Equal(t, 10+patience, *d.Until())
	d.Complete(4, "others", patience)
	require.Equal(t, 10+patience, *d.Until(), "a second mismatch does not shorten the wait")

	var late Dispute
	late.Complete(3, "both sides", patience)
	require.True(t, late.IsOpen())
	require.False(t, late.Tick(10, patience))
	require.Equal(t, 10+patience, *late.Until())
	*late.Until() = 11
	require.True(t, late.Tick(11, patience))
}

// Disputes that differ only in time have the same state, and at a rank that has failed, those that
// differ only in their words.
func TestStateOfADispute(t *testing.T) {
	stateOf := func(d Dispute, failed bool) []byte {
		*d.Until() = 9 // as for every timer that runs
		d.Normalize(failed)
		return deep.Append(nil, nil, &d)
	}
	var a, b, none Dispute
	a.Open(3, "one side")
	b = a
	b.Tick(10, patience)
	require.Equal(t, stateOf(a, false), stateOf(b, false))
	b.Complete(3, "one side", patience)
	require.NotEqual(t, stateOf(a, false), stateOf(b, false))
	require.NotEqual(t, stateOf(none, false), stateOf(a, false))
	require.True(t, a.Awaits(3), "a copy is independent")
	b.Open(2, "another")
	require.Equal(t, stateOf(a, true), stateOf(b, true), "the rank has failed")
}
