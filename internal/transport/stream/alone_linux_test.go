package stream

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pass puts a number of bytes to rank 0, lets what is sent arrive in pieces with pauses, and
// returns the most bytes that were under way.
func (s *stage) pass(bytes int, pause time.Duration) (most int) {
	const piece = longWrite
	for s.put(0, bytes); bytes > 0; {
		n := s.flying()[0]
		require.Positive(s.t, n)
		most = max(most, n)
		s.time.Advance(pause)
		s.arrive(0, min(n, piece))
		bytes -= min(n, piece)
	}
	return most
}

func TestStartOfAConnectionAlone(t *testing.T) {
	const (
		slow = fastTurn / (turnBytes / longWrite) * 2
		fast = fastTurn / (turnBytes / longWrite) / 2
		much = turnBytes * 3 / 2 // the system takes no more at once
	)
	for _, c := range []struct {
		name  string
		trip  time.Duration
		pause time.Duration
		want  int
	}{
		{"slow line", 0, slow, turnBytes},
		{"fast line", 0, fast, much},
		{"long line", longTrip, slow, much},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, 1)
			s.trip = c.trip
			most := 0
			for range 4 {
				most = max(most, s.pass(much, c.pause))
			}
			if c.want == turnBytes {
				require.Equal(t, turnBytes, most)
			} else {
				require.Greater(t, most, turnBytes)
			}
		})
	}
}

// After the start the system knows the line; after a rest it does not.
func TestStartEndsAndBeginsAgain(t *testing.T) {
	s := newStage(t, 1)
	s.put(0, startBytes+turnBytes)
	for gone := turnBytes; gone < startBytes; gone += longWrite {
		require.Equal(t, turnBytes, s.flying()[0])
		s.time.Advance(fastTurn)
		s.arrive(0, longWrite)
	}
	s.put(0, turnBytes)
	require.Greater(t, s.flying()[0], turnBytes)
	s.arrive(0, s.flying()[0])
	s.put(0, 3*turnBytes/2)
	require.Equal(t, turnBytes, s.flying()[0])
}

// If nothing arrives at all, for example because the receiver does not read, a connection fills the
// system's buffer and does not make others wait.
func TestStartDoesNotWaitForTheLost(t *testing.T) {
	s := newStage(t, 2)
	s.put(0, 3*turnBytes/2)
	require.Equal(t, []int{turnBytes, 0}, s.flying())
	s.put(1, longWrite)
	s.time.Advance(turnPatience - 1)
	require.Equal(t, []int{turnBytes, 0}, s.flying())
	s.time.Advance(1)
	require.Equal(t, 3*turnBytes/2, s.flying()[0])
	s.time.Advance(turnPatience)
	require.Equal(t, []int{3 * turnBytes / 2, longWrite}, s.flying())
}
