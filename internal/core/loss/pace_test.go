package loss

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

// run lets operations follow each other at the given distances, and returns the last patience.
func (p *pace) run(distances ...moment.Time) (patience moment.Time) {
	now := max(p.last, 1)
	if p.last == 0 {
		patience = p.patience(now, base)
	}
	for _, d := range distances {
		now += d
		patience = p.patience(now, base)
	}
	return patience
}

func TestPace(t *testing.T) {
	var p pace
	require.Equal(t, base/4, p.run(), "nothing is known")
	require.Equal(t, 4*moment.Time(1e6), p.run(1e6))
	require.Equal(t, minPatience, p.run(50e3))
	p = pace{}
	require.Equal(t, base, p.run(3600e9), "an hour between two")
	require.Equal(t, minPatience, p.run(1), "and then none")
}

// An operation that needs a request takes as long as its wait. If it counted, each operation would
// wait longer than the one before.
func TestPaceLeavesOutWhatIsAskedFor(t *testing.T) {
	var p pace
	was := p.run(1e6)
	for range 1000 {
		p.asked = true
		require.Equal(t, was, p.run(15e6))
	}
}

// Operations that are late because others have lost something count, but little.
func TestPaceGrowsSlowly(t *testing.T) {
	var p pace
	was := p.run(1e6)
	for range 30 {
		p.run(5e6)
	}
	require.Less(t, p.run(5e6), 2*was)
	for range 300 {
		p.run(5e6)
	}
	require.Equal(t, base, p.run(5e6), "they are that slow")
}
