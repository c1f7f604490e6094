package schedgen_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen"
	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// twoWays is a collective that a rank calls and prepares. dst and src are lengths of its buffers.
type twoWays struct {
	name     string
	dst, src int
	call     func(dst, src []int64) error
	prepare  func(dst, src []int64) (*schedgen.Prepared, error)
}

// everyWay returns all collectives of a rank, with blocks of n elements, or of counts elements.
func everyWay(ctx context.Context, c *schedgen.Comm, root, n int, counts []int) []twoWays {
	type ints = []int64
	type prepared = *schedgen.Prepared
	me, size, sum, all, op := c.Rank(), c.Size(), 0, c.Size()*n, schedgen.Sum
	for _, n := range counts {
		sum += n
	}
	out := make([]int, size) // the same from each rank, and its own count to each
	for r := range out {
		out[r] = counts[r]
	}
	in := slices.Repeat([]int{counts[me]}, size)
	atRoot, sumAtRoot, oneAtRoot, rootCounts := 0, 0, 0, []int(nil)
	if me == root {
		atRoot, sumAtRoot, oneAtRoot, rootCounts = all, sum, n, counts
	}
	own := counts[me]
	return []twoWays{
		{"Bcast", n, 0, func(d, _ ints) error { return schedgen.Bcast(ctx, c, d, root) }, func(d, _ ints) (prepared, error) { return schedgen.PrepareBcast(ctx, c, d, root) }},
		{"Scatter", n, atRoot, func(d, s ints) error { return schedgen.Scatter(ctx, c, d, s, root) }, func(d, s ints) (prepared, error) { return schedgen.PrepareScatter(ctx, c, d, s, root) }},
		{"Gather", atRoot, n, func(d, s ints) error { return schedgen.Gather(ctx, c, d, s, root) }, func(d, s ints) (prepared, error) { return schedgen.PrepareGather(ctx, c, d, s, root) }},
		{"Allgather", all, n, func(d, s ints) error { return schedgen.Allgather(ctx, c, d, s) }, func(d, s ints) (prepared, error) { return schedgen.PrepareAllgather(ctx, c, d, s) }},
		{"Alltoall", all, all, func(d, s ints) error { return schedgen.Alltoall(ctx, c, d, s) }, func(d, s ints) (prepared, error) { return schedgen.PrepareAlltoall(ctx, c, d, s) }},
		{"Scatterv", own, sumAtRoot, func(d, s ints) error { return schedgen.Scatterv(ctx, c, d, s, rootCounts, root) }, func(d, s ints) (prepared, error) {
			return schedgen.PrepareScatterv(ctx, c, d, s, rootCounts, root)
		}},
		{"Gatherv", sumAtRoot, own, func(d, s ints) error { return schedgen.Gatherv(ctx, c, d, rootCounts, s, root) }, func(d, s ints) (prepared, error) {
			return schedgen.PrepareGatherv(ctx, c, d, rootCounts, s, root)
		}},
		{"Allgatherv", sum, own, func(d, s ints) error { return schedgen.Allgatherv(ctx, c, d, counts, s) }, func(d, s ints) (prepared, error) { return schedgen.PrepareAllgatherv(ctx, c, d, counts, s) }},
		{"Alltoallv", size * own, sum, func(d, s ints) error { return schedgen.Alltoallv(ctx, c, d, in, s, out) }, func(d, s ints) (prepared, error) { return schedgen.PrepareAlltoallv(ctx, c, d, in, s, out) }},
		{"Barrier", 0, 0, func(_, _ ints) error { return schedgen.Barrier(ctx, c) }, func(_, _ ints) (prepared, error) { return schedgen.PrepareBarrier(ctx, c) }},
		{"Reduce", n, 0, func(d, _ ints) error { return schedgen.Reduce(ctx, c, d, op, root) }, func(d, _ ints) (prepared, error) { return schedgen.PrepareReduce(ctx, c, d, op, root) }},
		{"ReduceTo", oneAtRoot, n, func(d, s ints) error { return schedgen.ReduceTo(ctx, c, d, s, op, root) }, func(d, s ints) (prepared, error) { return schedgen.PrepareReduceTo(ctx, c, d, s, op, root) }},
		{"Allreduce", n, 0, func(d, _ ints) error { return schedgen.Allreduce(ctx, c, d, op) }, func(d, _ ints) (prepared, error) { return schedgen.PrepareAllreduce(ctx, c, d, op) }},
		{"AllreduceTo", n, n, func(d, s ints) error { return schedgen.AllreduceTo(ctx, c, d, s, op) }, func(d, s ints) (prepared, error) { return schedgen.PrepareAllreduceTo(ctx, c, d, s, op) }},
		{"ReduceScatter", n, all, func(d, s ints) error { return schedgen.ReduceScatter(ctx, c, d, s, op) }, func(d, s ints) (prepared, error) { return schedgen.PrepareReduceScatter(ctx, c, d, s, op) }},
		{"ReduceScatterv", own, sum, func(d, s ints) error { return schedgen.ReduceScatterv(ctx, c, d, s, counts, op) }, func(d, s ints) (prepared, error) {
			return schedgen.PrepareReduceScatterv(ctx, c, d, s, counts, op)
		}},
		{"Scan", n, 0, func(d, _ ints) error { return schedgen.Scan(ctx, c, d, op) }, func(d, _ ints) (prepared, error) { return schedgen.PrepareScan(ctx, c, d, op) }},
		{"ScanTo", n, n, func(d, s ints) error { return schedgen.ScanTo(ctx, c, d, s, op) }, func(d, s ints) (prepared, error) { return schedgen.PrepareScanTo(ctx, c, d, s, op) }},
		{"Exscan", n, 0, func(d, _ ints) error { return schedgen.Exscan(ctx, c, d, op) }, func(d, _ ints) (prepared, error) { return schedgen.PrepareExscan(ctx, c, d, op) }},
		{"ExscanTo", n, n, func(d, s ints) error { return schedgen.ExscanTo(ctx, c, d, s, op) }, func(d, s ints) (prepared, error) { return schedgen.PrepareExscanTo(ctx, c, d, s, op) }},
	}
}

// comparePrepared prepares every collective, starts each several times, by Do or by Start, and
// compares the results with those of calls.
func comparePrepared(ctx context.Context, c *schedgen.Comm, root, n int, counts []int) error {
	all := everyWay(ctx, c, root, n, counts)
	ready := make([]*schedgen.Prepared, len(all))
	bufs := make([][4][]int64, len(all)) // dst and src of the prepared one, and of the call
	for i, one := range all {
		bufs[i] = [4][]int64{make([]int64, one.dst), make([]int64, one.src), make([]int64, one.dst), make([]int64, one.src)}
		var err error
		if ready[i], err = one.prepare(bufs[i][0], bufs[i][1]); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	for round := range 3 {
		for i := range all {
			for k, b := range bufs[i] {
				for at := range b {
					b[at] = int64(100*c.Rank() + 10*(k%2) + at + round)
				}
			}
			if round == 0 {
				if err := ready[i].Start(ctx); err != nil {
					return err
				}
			} else if err := ready[i].Do(ctx); err != nil {
				return err
			}
		}
		for i, one := range all {
			if err := errors.Join(ready[i].Wait(ctx), one.call(bufs[i][2], bufs[i][3])); err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			if !slices.Equal(bufs[i][0], bufs[i][2]) || !slices.Equal(bufs[i][1], bufs[i][3]) {
				return fmt.Errorf("%s at rank %d of %d, round %d: the start gives %v, the call %v", one.name, c.Rank(), c.Size(), round, bufs[i][0], bufs[i][2])
			}
		}
	}
	return nil
}

// TestPreparedIsAsCalled checks that each start of each prepared collective does what a call does.
func TestPreparedIsAsCalled(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, 6).Draw(rt, "ranks")
		root := rapid.IntRange(0, size-1).Draw(rt, "root")
		n := rapid.SampledFrom([]int{0, 1, 7, 1000}).Draw(rt, "elements")
		counts := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 5, 300}), size, size).Draw(rt, "counts")
		comms := groupOf(rt, size, mem.Options{Queue: 4096, Windows: rapid.Bool().Draw(rt, "windows")}, schedgen.Config{})
		require.NoError(rt, each(comms, func(c *schedgen.Comm) error { return comparePrepared(t.Context(), c, root, n, counts) }))
		closeAll(rt, comms)
	})
}

// TestPreparedByTransport checks the same over transports with sockets and with shared memory.
func TestPreparedByTransport(t *testing.T) {
	const size = 3
	for name, join := range map[string]exactJoin{
		"tcp": func(t *testing.T, rank, size int, l net.Listener) (wire.Transport, error) {
			return tcp.Join(t.Context(), tcpConfig(rank, size, l))
		},
		"shm": func(t *testing.T, rank, size int, l net.Listener) (wire.Transport, error) {
			return shm.Join(t.Context(), shm.Config{Rank: rank, Size: size, Name: fmt.Sprintf("prepared-%d", l.Addr().(*net.TCPAddr).Port)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			comms := joinBy(t, size, join)
			require.NoError(t, each(comms, func(c *schedgen.Comm) error {
				return comparePrepared(t.Context(), c, 1, 50, []int{3, 0, 200})
			}))
			closeAll(t, comms)
		})
	}
}

// joinBy joins ranks over a transport.
func joinBy(t *testing.T, size int, join exactJoin) []*schedgen.Comm {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() }) // rank 0 may have closed it
	comms, errs := make([]*schedgen.Comm, size), make(chan error, size)
	for rank := range comms {
		go func() {
			tr, err := join(t, rank, size, l)
			if err == nil {
				comms[rank], err = schedgen.Join(t.Context(), schedgen.Config{Transport: tr})
			}
			errs <- err
		}()
	}
	for range comms {
		require.NoError(t, <-errs)
	}
	return comms
}

// TestPreparedArguments checks that wrong arguments are errors that name the function.
func TestPreparedArguments(t *testing.T) {
	ranks(t, 2, func(c *schedgen.Comm) error {
		ctx, six := t.Context(), make([]int32, 6)
		var none *schedgen.Comm
		var nobody *schedgen.Prepared
		prepared := func(_ *schedgen.Prepared, err error) error { return err }
		for _, one := range []struct {
			err  error
			want string
		}{
			{prepared(schedgen.PrepareAllreduce(ctx, none, six, schedgen.Sum)), "PrepareAllreduce: the communicator is nil"},
			{prepared(schedgen.PrepareBcast(ctx, c, six, 2)), "PrepareBcast: rank "},
			{prepared(schedgen.PrepareGather(ctx, c, six[:5], six, c.Rank())), "PrepareGather: rank "},
			{prepared(schedgen.PrepareScatterv(ctx, c, six, nil, six2, c.Rank())), "PrepareScatterv: rank "},
			{prepared(schedgen.PrepareScan(ctx, c, six, schedgen.MinLoc)), "PrepareScan: rank "},
			{nobody.Start(ctx), "Start: the prepared collective is nil"},
			{nobody.Wait(ctx), "Wait: the prepared collective is nil"},
			{new(schedgen.Prepared).Do(ctx), "Do: the prepared collective is nil"},
		} {
			if !errors.Is(one.err, schedgen.ErrInput) {
				return fmt.Errorf("no ErrInput: %w", one.err)
			}
			require.ErrorContains(t, one.err, one.want)
		}
		p, err := schedgen.PrepareBarrier(ctx, c)
		if err := errors.Join(err, p.Start(ctx)); err != nil {
			return err
		}
		busy := p.Start(ctx)
		require.ErrorIs(t, busy, schedgen.ErrBusy)
		require.ErrorContains(t, busy, "PrepareBarrier: rank ")
		<-p.Done()
		return errors.Join(p.Wait(ctx), p.Do(ctx))
	})
}

var six2 = []int{3, 4}

// TestPrepareMismatch checks that all ranks get ErrMismatch where they prepare, in the types of
// this package.
func TestPrepareMismatch(t *testing.T) {
	comms := group(t, 3, schedgen.Config{})
	require.NoError(t, each(comms, func(c *schedgen.Comm) error {
		op := schedgen.Sum
		if c.Rank() == 1 {
			op = schedgen.Max
		}
		_, err := schedgen.PrepareAllreduce(t.Context(), c, make([]float64, 4), op)
		var about *schedgen.RankError
		if !errors.Is(err, schedgen.ErrMismatch) || !errors.As(err, &about) {
			return fmt.Errorf("rank %d: no mismatch: %w", c.Rank(), err)
		}
		require.ErrorContains(t, err, "sum of float64")
		require.ErrorContains(t, err, "max of float64")
		return nil
	}))
	closeAll(t, comms)
}

// TestStartsDoNotAllocate checks that a start of a prepared collective allocates nothing, and nor
// does a plain call, once the communicator is warm.
func TestStartsDoNotAllocate(t *testing.T) {
	const warm, runs = 100, 500
	for _, windows := range []bool{false, true} {
		comms := groupOf(t, 2, mem.Options{Queue: 4096, Windows: windows}, schedgen.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		for name, start := range map[string]func(c *schedgen.Comm, p *schedgen.Prepared, buf []float64) error{
			"Do": func(_ *schedgen.Comm, p *schedgen.Prepared, _ []float64) error { return p.Do(ctx) },
			"Start and Wait": func(_ *schedgen.Comm, p *schedgen.Prepared, _ []float64) error {
				if err := p.Start(ctx); err != nil {
					return err
				}
				return p.Wait(ctx)
			},
			"Allreduce": func(c *schedgen.Comm, _ *schedgen.Prepared, buf []float64) error {
				return schedgen.Allreduce(ctx, c, buf, schedgen.Sum)
			},
		} {
			require.NoError(t, each(comms, func(c *schedgen.Comm) error {
				buf := []float64{1}
				p, err := schedgen.PrepareAllreduce(ctx, c, buf, schedgen.Sum)
				for i := 0; err == nil && i < warm; i++ {
					err = start(c, p, buf)
				}
				if c.Rank() == 0 && err == nil {
					allocs := testing.AllocsPerRun(runs, func() { err = errors.Join(err, start(c, p, buf)) })
					require.Zero(t, allocs, "%s, windows %t", name, windows)
					return err
				}
				for i := 0; err == nil && i < 1+runs; i++ { // AllocsPerRun runs once more
					err = start(c, p, buf)
				}
				return err
			}))
		}
		cancel()
		closeAll(t, comms)
	}
}
