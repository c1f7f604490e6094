package main

import (
	"context"
	"os"
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/examples/generated/barrier8"
	"github.com/schedgen/schedgen/examples/generated/bcast8"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
)

func TestEveryRankHasTheLine(t *testing.T) {
	for _, loss := range []float64{0, 0.5, 1} {
		lines, err := broadcast(t.Context(), "whatever is lost", mem.Options{Seed: 1, Loss: loss})
		require.NoError(t, err)
		require.Len(t, lines, bcast8.Ranks)
		for rank, line := range lines {
			require.Equal(t, "whatever is lost", line, "rank %d", rank)
		}
	}
}

// made returns the schedules from which the packages were made.
func made(t testing.TB) (bcast, barrier *ir.Schedule) {
	a, err := schedule.New("bcast/mcast-chain", schedule.Params{Ranks: bcast8.Ranks, Chunks: bcast8.Chunks})
	require.NoError(t, err)
	b, err := schedule.New("barrier/dissemination", schedule.Params{Ranks: barrier8.Ranks, Degree: 2})
	require.NoError(t, err)
	return a.Schedule(), b.Schedule()
}

// TestPackagesAreUpToDate checks that the committed packages are what emit writes.
func TestPackagesAreUpToDate(t *testing.T) {
	bcast, barrier := made(t)
	for file, o := range map[string]struct {
		s       *ir.Schedule
		options emit.Options
	}{
		"bcast8/bcast8.go": {bcast, emit.Options{
			Command: "schedgen emit bcast/mcast-chain -p 8 --chunks 64 --format go --package bcast8", Package: "bcast8", Proved: true,
		}},
		"barrier8/barrier8.go": {barrier, emit.Options{
			Command: "schedgen emit barrier/dissemination -p 8 --degree 2 --format go --package barrier8", Package: "barrier8", Proved: true,
		}},
	} {
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		var got writer
		require.NoError(t, emit.Write(&got, "go", o.s, o.options))
		require.Equal(t, string(want), string(got), "go generate ./examples/...")
	}
}

type writer []byte

func (w *writer) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// TestProgramsAreThoseOfTheSchedules checks that the packages build the programs of the schedules.
func TestProgramsAreThoseOfTheSchedules(t *testing.T) {
	bcast, barrier := made(t)
	for rank := range bcast8.Ranks {
		require.Equal(t, bcast.Programs[rank], bcast8.Schedule().Program(rank))
		require.Equal(t, barrier.Programs[rank], barrier8.Schedule().Program(rank))
	}
}

// TestWarmOperationsDoNotAllocate checks that generated code allocates nothing after the first
// operations.
func TestWarmOperationsDoNotAllocate(t *testing.T) {
	const rounds = 1000
	comms := joined(t)
	collectives(t, comms, 300)
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	collectives(t, comms, rounds)
	goruntime.ReadMemStats(&after)
	perOperation := float64(after.Mallocs-before.Mallocs) / (2 * rounds * bcast8.Ranks)
	require.Less(t, perOperation, 0.05)
}

func joined(t *testing.T) []*schedgen.Comm {
	ts, err := mem.New(bcast8.Ranks, mem.Options{Queue: 4096})
	require.NoError(t, err)
	var comms []*schedgen.Comm
	for _, tr := range ts {
		comm, err := schedgen.Join(t.Context(), schedgen.Config{Transport: tr})
		require.NoError(t, err)
		require.NoError(t, comm.Use(bcast8.Schedule()))
		require.NoError(t, comm.Use(barrier8.Schedule()))
		comms = append(comms, comm)
	}
	t.Cleanup(func() {
		for _, c := range comms {
			require.NoError(t, c.Close())
		}
	})
	return comms
}

// collectives runs rounds broadcasts and barriers at all ranks.
func collectives(t *testing.T, comms []*schedgen.Comm, rounds int) {
	errs := make(chan error, len(comms))
	for _, c := range comms {
		go func() { errs <- repeat(c, rounds) }()
	}
	for range comms {
		require.NoError(t, <-errs)
	}
}

func repeat(c *schedgen.Comm, rounds int) error {
	buf := make([]byte, 2048)
	for range rounds {
		if err := schedgen.Bcast(context.Background(), c, buf, bcast8.Root); err != nil {
			return err
		}
		if err := schedgen.Barrier(context.Background(), c); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkBarrier times a barrier of eight ranks with generated code: over memory, where signals
// are frames, and over shared windows, where signals are flags.
func BenchmarkBarrier(b *testing.B) {
	for name, o := range map[string]mem.Options{"frames": {Queue: 4096}, "flags": {Queue: 4096, Windows: true}} {
		b.Run(name, func(b *testing.B) {
			ts, err := mem.New(barrier8.Ranks, o)
			require.NoError(b, err)
			var wg sync.WaitGroup
			for _, tr := range ts {
				wg.Go(func() {
					c, err := schedgen.Join(b.Context(), schedgen.Config{Transport: tr})
					if !assert.NoError(b, err) {
						return
					}
					assert.NoError(b, c.Use(barrier8.Schedule()))
					for range b.N {
						if !assert.NoError(b, schedgen.Barrier(b.Context(), c)) {
							return
						}
					}
					assert.NoError(b, c.Close())
				})
			}
			wg.Wait()
		})
	}
}
