package sim_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/foreign/goal"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

func ofGOAL(t *testing.T, text string, unit int, c sim.Config) (*sim.Result, error) {
	t.Helper()
	g, err := goal.Parse(strings.NewReader(text))
	require.NoError(t, err)
	p, err := sim.OfGraph("test", g, unit)
	if err != nil {
		return nil, err
	}
	return sim.Run(p, c)
}

// TestGOALTakesAsLong checks that a schedule written as GOAL takes as long as the schedule itself.
func TestGOALTakesAsLong(t *testing.T) {
	for _, name := range []string{"bcast/linear", "bcast/binomial", "bcast/chain", "barrier/dissemination", "barrier/hsb", "barrier/exchange"} {
		for _, ranks := range []int{2, 7, 24} {
			s := spec(t, name, schedule.Params{Ranks: ranks}).Schedule()
			var text bytes.Buffer
			require.NoError(t, emit.Write(&text, "goal", s, emit.Options{Size: 5000}))
			c := sim.Config{Model: sim.DefaultLogGP(), Bytes: 5000}
			want, err := sim.Run(sim.Of(s), c)
			require.NoError(t, err)
			got, err := ofGOAL(t, text.String(), 1, c)
			require.NoError(t, err)
			require.Equal(t, want.Makespan, got.Makespan, "%s of %d", name, ranks)
		}
	}
}

// TestLengthsOfGOAL checks that each message has its own length, and that a message without a
// receive is reported.
func TestLengthsOfGOAL(t *testing.T) {
	const two = `num_ranks 2
rank 0 {
a: send 11b to 1 tag 1
b: send 101b to 1 tag 2
b requires a
}
rank 1 {
a: recv 11b from 0 tag 1
b: recv 101b from 0 tag 2
b requires a
}
`
	c := sim.Config{Model: sim.Linear{T0: 5, PerByte: 1000}}
	r, err := ofGOAL(t, two, 1, c)
	require.NoError(t, err)
	require.Equal(t, sim.Time(5+11+101), r.Makespan)
	r, err = ofGOAL(t, two, 10, c)
	require.NoError(t, err)
	require.Equal(t, sim.Time(5+110+1010), r.Makespan)
	_, err = ofGOAL(t, strings.Replace(two, "tag 2\nb requires a\n}\n", "tag 3\nb requires a\n}\n", 1), 1, c)
	require.ErrorContains(t, err, "never sends it")
}
