package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// journal collects the output of slog without the times.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "took" {
			return slog.Attr{}
		}
		return a
	}}))
}

func (j *journal) lines() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Split(strings.TrimSuffix(j.b.String(), "\n"), "\n")
}

// observed joins ranks with one journal each.
func observed(t *testing.T, size int) ([]*runtime.Comm, []*mem.Transport, []*journal) {
	ts, err := mem.New(size, mem.Options{})
	require.NoError(t, err)
	comms, journals := make([]*runtime.Comm, size), make([]*journal, size)
	for r := range comms {
		journals[r] = new(journal)
		comms[r], err = runtime.Join(t.Context(), runtime.Config{Transport: ts[r], Observe: runtime.Observe{Log: journals[r].logger()}})
		require.NoError(t, err)
	}
	return comms, ts, journals
}

func TestLogOfALife(t *testing.T) {
	comms, _, journals := observed(t, 2)
	halves := make([]*runtime.Comm, 2)
	require.NoError(t, each(comms, func(c *runtime.Comm) (err error) {
		halves[c.Rank()], err = c.Dup(t.Context())
		return errors.Join(err, c.Barrier(t.Context()))
	}))
	for r := range comms {
		require.NoError(t, halves[r].Close())
		require.NoError(t, comms[r].Close())
		require.NoError(t, comms[r].Close(), "said once")
	}
	require.Equal(t, []string{
		`level=INFO msg=joined rank=1 size=2 comm=0 epoch=1 by=join transport=mem hosts=1`,
		`level=INFO msg=joined rank=1 size=2 comm=1 epoch=2 by=dup transport=mem hosts=1 group=38ab316005478f57258d23f0448e1d76`,
		`level=INFO msg="communicator closed" rank=1 size=2 comm=1 epoch=2 operations=0`,
		`level=INFO msg="communicator closed" rank=1 size=2 comm=0 epoch=1 operations=4`,
	}, journals[1].lines())
}

// The log shows whether a communicator has windows or none were free.
func TestLogOfWindows(t *testing.T) {
	j := new(journal)
	comms := group(t, 2, mem.Options{Windows: true}, runtime.Config{Observe: runtime.Observe{Log: j.logger()}})
	twins := make([][]*runtime.Comm, wire.WindowSets)
	for i := range twins {
		twins[i] = make([]*runtime.Comm, len(comms))
		require.NoError(t, each(comms, func(c *runtime.Comm) (err error) {
			twins[i][c.Rank()], err = c.Dup(t.Context())
			return err
		}))
	}
	require.Len(t, j.lines(), 2*(1+wire.WindowSets))
	for _, line := range j.lines() {
		require.Contains(t, line, fmt.Sprintf("windows=%v", !strings.Contains(line, fmt.Sprintf("comm=%d ", wire.WindowSets))))
	}
	for _, c := range slices.Concat(append(twins, comms)...) {
		require.NoError(t, c.Close())
	}
}

// Every remaining rank logs the loss of a rank and the failure of the communicator before the end
// of the communicator.
func TestLogOfALoss(t *testing.T) {
	comms, ts, journals := observed(t, 3)
	require.NoError(t, ts[2].Close(false, 0))
	for r := range 2 {
		require.ErrorIs(t, comms[r].Barrier(t.Context()), runtime.ErrPeerLost)
		require.NoError(t, comms[r].Close())
		lines := journals[r].lines()
		require.Len(t, lines, 4, lines)
		require.Contains(t, lines[1], `level=WARN msg="rank lost" rank=`)
		require.Contains(t, lines[1], ` lost=2`)
		require.Contains(t, lines[2], `level=ERROR msg="communicator failed"`)
		require.Contains(t, lines[2], `rank lost`)
		require.Contains(t, lines[3], `msg="communicator closed"`)
	}
}

// A handler may call the communicator that it gets events of.
func TestLogHandlerMayAsk(t *testing.T) {
	ts, err := mem.New(2, mem.Options{})
	require.NoError(t, err)
	var comm *runtime.Comm
	asked := make(chan string, 10)
	ask := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.MessageKey && comm != nil {
			asked <- comm.State().Failure
		}
		return a
	}
	log := slog.New(slog.NewTextHandler(new(journal), &slog.HandlerOptions{ReplaceAttr: ask}))
	comm, err = runtime.Join(t.Context(), runtime.Config{Transport: ts[0], Observe: runtime.Observe{Log: log}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, comm.Barrier(ctx), context.Canceled)
	require.Contains(t, <-asked, "context canceled")
	require.NoError(t, comm.Close())
	require.NoError(t, ts[1].Close(true, 0))
}

// traced returns a Config that appends all events to events.
func traced(into *[]runtime.Event) runtime.Config {
	return runtime.Config{Observe: runtime.Observe{Trace: func(e runtime.Event) { *into = append(*into, e) }}}
}

// At every rank, every operation begins and ends once, with all needed events in between.
func TestTraceOfABroadcast(t *testing.T) {
	const size, rounds = 5, 20
	ts, err := mem.New(size, mem.Options{Loss: 0.3, Seed: 7})
	require.NoError(t, err)
	comms, events := make([]*runtime.Comm, size), make([][]runtime.Event, size)
	for r := range comms {
		cfg := traced(&events[r])
		cfg.Transport = ts[r]
		cfg.Algorithms = runtime.Algorithms{"bcast": {Name: "bcast/mcast-acktree", Params: schedule.Params{Chunks: 3}}}
		comms[r], err = runtime.Join(t.Context(), cfg)
		require.NoError(t, err)
	}
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		for i := range rounds {
			if err := c.Bcast(t.Context(), make([]byte, 100), i%size); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, c := range comms {
		require.NoError(t, c.Close())
	}
	for rank := range events {
		checkTrace(t, rank, size, rounds, events[rank])
	}
}

// Each fold of an operation is told, a long one that is done in parts, too.
func TestTraceOfFolds(t *testing.T) {
	for _, bytes := range []int{8, 4 << 20} {
		ts, err := mem.New(3, mem.Options{})
		require.NoError(t, err)
		comms, events := make([]*runtime.Comm, 3), make([][]runtime.Event, 3)
		for r := range comms {
			cfg := traced(&events[r])
			cfg.Transport = ts[r]
			cfg.Algorithms = runtime.Algorithms{"allreduce": {Name: "allreduce/doubling"}}
			comms[r], err = runtime.Join(t.Context(), cfg)
			require.NoError(t, err)
		}
		sum := &runtime.Fold{Name: "sum", Element: 1, Commutes: true, Kernel: func(dst, a, b []byte) {
			for i := range dst {
				dst[i] = a[i] + b[i]
			}
		}}
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			return c.Do(t.Context(), runtime.Call{Collective: "allreduce", Dst: make([]byte, bytes), Src: make([]byte, bytes), Fold: sum})
		}))
		s, err := schedule.New("allreduce/doubling", schedule.Params{Ranks: 3, Chunks: 1})
		require.NoError(t, err)
		for rank, c := range comms {
			require.NoError(t, c.Close())
			want := map[ir.Slot]int{}
			for _, r := range s.Program(rank).Rules {
				for _, a := range r.Do {
					if a.Op == ir.Fold && !a.Joins {
						want[a.As]++
					}
				}
			}
			got := map[ir.Slot]int{}
			for _, e := range events[rank] {
				if e.Kind == runtime.EventFolded {
					got[e.Slot]++
					require.Equal(t, -1, e.Peer)
				}
			}
			require.Equal(t, want, got, "%d bytes, rank %d", bytes, rank)
		}
	}
}

func checkTrace(t *testing.T, rank, size, rounds int, events []runtime.Event) {
	began, ended, chunks := map[uint64]int{}, map[uint64]int{}, map[uint64]int{}
	for i, e := range events {
		require.Equal(t, rank, e.Rank)
		require.False(t, i > 0 && e.At.Before(events[i-1].At))
		switch e.Kind {
		case runtime.EventBegan:
			began[e.Seq]++
			require.Equal(t, "bcast/mcast-acktree", e.Op)
			require.Equal(t, int(e.Seq-1)%size, e.Root)
			require.Equal(t, 100, e.Bytes)
		case runtime.EventEnded:
			require.Equal(t, 1, began[e.Seq])
			ended[e.Seq]++
			require.NoError(t, e.Err)
		case runtime.EventArrived, runtime.EventReceived:
			require.Contains(t, []string{"c", "s"}, e.Slot.String()[:1])
			require.NotEqual(t, rank, e.Peer)
			if e.Slot.String()[0] == 'c' {
				chunks[e.Seq]++
				require.Zero(t, ended[e.Seq])
			}
		}
	}
	for seq := uint64(1); seq <= uint64(rounds); seq++ {
		require.Equal(t, 1, began[seq])
		require.Equal(t, 1, ended[seq])
		want := 3
		if int(seq-1)%size == rank {
			want = 0
		}
		require.Equal(t, want, chunks[seq], "rank %d, operation %d", rank, seq)
	}
}

// An operation that fails ends in the trace with its error.
func TestTraceOfAFailure(t *testing.T) {
	var events []runtime.Event
	ts, err := mem.New(2, mem.Options{})
	require.NoError(t, err)
	cfg := traced(&events)
	cfg.Transport = ts[0]
	comm, err := runtime.Join(t.Context(), cfg)
	require.NoError(t, err)
	for range 6 { // two more than are open at once
		_, err := comm.StartBarrier(t.Context())
		require.NoError(t, err)
	}
	require.NoError(t, comm.Close())
	began, ended := 0, 0
	for _, e := range events {
		switch e.Kind {
		case runtime.EventBegan:
			began++
		case runtime.EventEnded:
			ended++
			require.ErrorIs(t, e.Err, runtime.ErrClosed)
		}
	}
	require.Equal(t, []int{4, 4}, []int{began, ended})
	require.NoError(t, ts[1].Close(true, 0))
}

// After a loss and a Shrink, the log says so, and states and traces distinguish the new
// communicator from the old one.
func TestShrinkIsSeen(t *testing.T) {
	const size = 4
	ts, err := mem.New(size, mem.Options{})
	require.NoError(t, err)
	comms, journals, events := make([]*runtime.Comm, size), make([]*journal, size), make([][]runtime.Event, size)
	for r := range comms {
		journals[r] = new(journal)
		cfg := traced(&events[r])
		cfg.Transport, cfg.Observe.Log = ts[r], journals[r].logger()
		comms[r], err = runtime.Join(t.Context(), cfg)
		require.NoError(t, err)
	}
	require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Barrier(t.Context()) }))
	require.NoError(t, ts[0].Close(false, 0))
	require.NoError(t, each(comms[1:], func(c *runtime.Comm) error {
		if err := c.Barrier(t.Context()); !errors.Is(err, runtime.ErrPeerLost) {
			return err
		}
		shrunk, err := c.Shrink(t.Context())
		if err != nil {
			return err
		}
		err = shrunk.Barrier(t.Context())
		states := c.States()
		require.Len(t, states, 1)
		require.Equal(t, []int{c.Rank() - 1, 3, 1, c.Rank()}, []int{states[0].Rank, states[0].Size, states[0].First, states[0].Process})
		require.EqualValues(t, 2, states[0].Epoch)
		return errors.Join(err, shrunk.Close())
	}))
	lines := strings.Join(journals[2].lines(), "\n")
	require.Regexp(t, `(?s)"rank lost" rank=2 size=4 comm=0 epoch=1 lost=0\n.*"communicator failed" rank=2.*\n`+
		`level=INFO msg="communicator closed" rank=2 size=4 .*\nlevel=INFO msg=joined rank=1 size=3 comm=0 epoch=2 by=shrink .*\n`+
		`level=INFO msg="communicator closed" rank=1 size=3 comm=0 epoch=2`, lines)
	epochs := map[uint32][2]int{}
	for _, e := range events[2] {
		require.Equal(t, 2, e.Process)
		epochs[e.Epoch] = [2]int{e.Rank, e.First}
	}
	require.Equal(t, map[uint32][2]int{1: {2, 0}, 2: {1, 1}}, epochs)
}
