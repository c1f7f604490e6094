package rdma_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/transport/rdma"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// windowless is a transport whose signals are messages.
type windowless struct{ wire.Transport }

func (windowless) Windows() wire.Windows { return nil }

// Barriers by flags send no messages, except one for sixteen flags, if no flags go the other way,
// to say how many more can come. A rank sends all signals of one turn in one call of the adapter.
func TestWhatBarriersCost(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts, and what it runs is run by TestComm")
	}
	const rounds = 400
	for _, test := range []struct {
		name    string
		p       schedule.Params
		ranks   int
		signals int // of a barrier
		turns   int // number of times that a rank signals in it, over all ranks
	}{
		{"barrier/dissemination", schedule.Params{}, 2, 2, 2},
		{"barrier/dissemination", schedule.Params{}, 5, 20, 5},
		{"barrier/dissemination", schedule.Params{Degree: 3}, 6, 18, 12},
		{"barrier/hsb", schedule.Params{}, 6, 10, 6},
	} {
		t.Run(fmt.Sprintf("%s/ranks=%d", test.name, test.ranks), func(t *testing.T) {
			algorithm := runtime.Algorithm{Name: test.name, Params: test.p}
			flags := barriers(t, test.ranks, rounds, algorithm, func(tr wire.Transport) wire.Transport { return tr })
			messages := barriers(t, test.ranks, rounds, algorithm, func(tr wire.Transport) wire.Transport { return windowless{tr} })
			t.Logf("of %d barriers by flags:    %+v", rounds, flags)
			t.Logf("of %d barriers by messages: %+v", rounds, messages)
			require.Equal(t, rounds*test.signals, flags.Flags)
			require.LessOrEqual(t, flags.Messages, flags.Flags/16)
			if test.ranks == 2 || test.name == "barrier/hsb" {
				require.Zero(t, flags.Messages)
			}
			require.Zero(t, messages.Flags)
			require.GreaterOrEqual(t, messages.Messages, rounds*test.signals)
			require.LessOrEqual(t, flags.Sending, rounds*test.turns+flags.Messages)
		})
	}
}

// barriers returns the counts for a number of barriers, after some others.
func barriers(t *testing.T, size, rounds int, a runtime.Algorithm, as func(wire.Transport) wire.Transport) rdma.Counts {
	n := rdma.NewFabric()
	n.Prompt = true
	trs, errs := rdma.JoinAll(t, size, func(_ int, c *rdma.Config) { c.Open = n.Open(1024, true) })
	require.NoError(t, errors.Join(errs...))
	comms := make([]*runtime.Comm, size)
	for rank, tr := range trs {
		var err error
		comms[rank], err = runtime.Join(t.Context(), runtime.Config{Transport: as(tr), Algorithms: runtime.Algorithms{"barrier": a}})
		require.NoError(t, err)
		defer comms[rank].Close()
	}
	var wg sync.WaitGroup
	run := func(rounds int) rdma.Counts {
		for rank, c := range comms {
			wg.Go(func() {
				for range rounds {
					errs[rank] = errors.Join(errs[rank], c.Barrier(t.Context()))
				}
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		return n.Counts()
	}
	before, after := run(3), run(rounds)
	require.Zero(t, n.Starved)
	written := uint64(0)
	for _, c := range comms {
		written += c.Totals().Transport.Flags
	}
	require.EqualValues(t, after.Flags, written)
	return rdma.Counts{
		Calls: after.Calls - before.Calls, Sending: after.Sending - before.Sending,
		Messages: after.Messages - before.Messages, Flags: after.Flags - before.Flags,
		Completions: after.Completions - before.Completions,
	}
}
