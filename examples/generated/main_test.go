package main

import (
	"context"
	"os"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/examples/generated/barrier8"
	"github.com/schedgen/schedgen/examples/generated/bcast8"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
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

// interpreted are the schedules that the packages were made from.
func interpreted(t testing.TB) (bcast, barrier *ir.Schedule) {
	a, err := schedule.New("bcast/mcast-chain", schedule.Params{Ranks: bcast8.Ranks, Chunks: bcast8.Chunks})
	require.NoError(t, err)
	b, err := schedule.New("barrier/dissemination", schedule.Params{Ranks: barrier8.Ranks, Degree: 2})
	require.NoError(t, err)
	return a.Schedule(), b.Schedule()
}

// What is committed is what emit writes now.
func TestPackagesAreUpToDate(t *testing.T) {
	bcast, barrier := interpreted(t)
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

// engines are those of one rank: of the machine and of generated code.
func engines(t testing.TB, s *ir.Schedule, generated *machine.Schedule, rank int) map[string]machine.Engine {
	of, err := machine.Of(s)
	require.NoError(t, err)
	list := make(map[string]machine.Engine)
	for name, all := range map[string]*machine.Schedule{"machine": of, "generated": generated} {
		p, err := all.Program(rank)
		require.NoError(t, err)
		list[name] = p.Engine()
	}
	return list
}

// operation is one operation at a rank: it enters, then chunks and signals
// arrive in order.
func operation(e machine.Engine, chunks, signals int) (actions int) {
	e.Clear()
	do, _ := e.Set(ir.Enter)
	actions = len(do)
	for k := range chunks {
		do, _ = e.Set(ir.Chunk(k))
		actions += len(do)
	}
	for k := range signals {
		do, _ = e.Set(ir.Signal(k))
		actions += len(do)
	}
	return actions
}

// ends are the signals of a rank of the barrier.
const ends = 3

func TestGeneratedEnginesDoNotAllocate(t *testing.T) {
	bcast, barrier := interpreted(t)
	for _, e := range []machine.Engine{
		engines(t, bcast, bcast8.Schedule(), 4)["generated"],
		engines(t, barrier, barrier8.Schedule(), 4)["generated"],
	} {
		require.Zero(t, testing.AllocsPerRun(100, func() { operation(e, bcast8.Chunks, ends) }))
		require.True(t, e.Done())
	}
}

// A warm communicator allocates nothing with generated code either.
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

// collectives does rounds broadcasts and barriers at all ranks.
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

// BenchmarkEngines is one operation of a rank, that of the machine and that of
// generated code, by arrival.
func BenchmarkEngines(b *testing.B) {
	bcast, barrier := interpreted(b)
	for _, c := range []struct {
		name            string
		s               *ir.Schedule
		generated       *machine.Schedule
		chunks, signals int
	}{
		{"bcast", bcast, bcast8.Schedule(), bcast8.Chunks, 0},
		{"barrier", barrier, barrier8.Schedule(), 0, ends},
	} {
		for name, e := range engines(b, c.s, c.generated, 4) {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if operation(e, c.chunks, c.signals) == 0 {
						b.Fatal("no action")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*(1+c.chunks+c.signals)), "ns/arrival")
			})
		}
	}
}
