package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule/selection"
)

// caller calls operations of one shape, as a program does that has an MPI.
type caller struct {
	comm  *runtime.Comm
	shape runtime.Shape
	took  time.Duration // of the MPI

	left int // calls without a question
	mpi  bool
	asks int
	turn []byte // who performed each call: m or s
}

func (c *caller) call() error {
	ctx, timed := context.Background(), false
	if c.left == 0 {
		t, err := c.comm.Turn(ctx, c.shape, c.shape.Collective == "allreduce")
		if err != nil {
			return err
		}
		c.left, c.mpi, timed = t.Calls, t.MPI, t.Timed
		c.asks++
	}
	c.left--
	since := time.Now()
	if c.mpi {
		time.Sleep(c.took)
		c.turn = append(c.turn, 'm')
	} else if err := doing(c.shape.Collective, c.shape.Bytes)(c.comm); err != nil {
		return err
	} else {
		c.turn = append(c.turn, 's')
	}
	if !timed {
		return nil
	}
	return c.comm.Took(ctx, time.Since(since))
}

// callers makes n calls of a shape at all ranks, beside an MPI that takes a time for each.
func callers(t require.TestingT, comms []*runtime.Comm, s runtime.Shape, took time.Duration, n int) *caller {
	all := make([]*caller, len(comms))
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		own := &caller{comm: c, shape: s, took: took}
		all[c.Rank()] = own
		for range n {
			if err := own.call(); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, c := range all {
		require.Equal(t, string(all[0].turn), string(c.turn), "ranks disagree about whose turn it is")
	}
	return all[0]
}

// withMPI learns beside an MPI.
var withMPI = runtime.Config{Learn: os.DevNull, MPI: true}

// The MPI and the algorithms take turns. From the 51st call on, the faster of them performs nearly all
// calls, and the caller seldom asks.
func TestTurnOfTheFaster(t *testing.T) {
	shapes := []runtime.Shape{{Collective: "barrier"}, {Collective: "bcast", Bytes: 1000}, {Collective: "allreduce", Bytes: 8}, {Collective: "allgather", Bytes: 1 << 14}}
	for _, took := range []time.Duration{time.Nanosecond, time.Second} {
		for _, s := range shapes {
			for _, size := range []int{2, 5} {
				t.Run(fmt.Sprint(took, " ", s.Collective, " among ", size), func(t *testing.T) {
					o := mem.Options{Delay: 50 * time.Microsecond}
					virtual(t, size, o, withMPI, func(comms []*runtime.Comm) {
						c := callers(t, comms, s, took, 300)
						learned := lesson(t, comms, s.Collective)
						require.Equal(t, selection.MPI, learned.Tried[0].Algorithm)
						require.GreaterOrEqual(t, len(learned.Tried), 2)
						require.Positive(t, learned.Trials)
						require.Equal(t, took == time.Nanosecond, learned.Algorithm == selection.MPI, "%+v", learned)
						want := byte('s')
						if took == time.Nanosecond {
							want = 'm'
						}
						require.Contains(t, string(c.turn[:50]), "m")
						require.Contains(t, string(c.turn[:50]), "s")
						require.Equal(t, -1, slices.IndexFunc(c.turn[50:], func(b byte) bool { return b != want }), "%s", c.turn)
						require.LessOrEqual(t, c.asks, 51)
						if took == time.Second {
							require.Positive(t, learned.Less())
						}
					})
				})
			}
		}
	}
}

// When the MPI becomes slow, the ranks notice it, and take the calls themselves.
func TestTurnNoticesAChange(t *testing.T) {
	virtual(t, 4, mem.Options{Delay: 50 * time.Microsecond}, withMPI, func(comms []*runtime.Comm) {
		s := runtime.Shape{Collective: "allreduce", Bytes: 64}
		callers(t, comms, s, time.Microsecond, 60)
		require.Equal(t, selection.MPI, lesson(t, comms, "allreduce").Algorithm)
		callers(t, comms, s, time.Millisecond, 4096+60)
		require.NotEqual(t, selection.MPI, lesson(t, comms, "allreduce").Algorithm)
	})
}

// The MPI never performs a fold whose bits are promised. It also performs no call in which a rank
// knows only the lengths of its own blocks.
func TestTurnOfPromisedBits(t *testing.T) {
	rules, err := selection.New([]selection.Rule{{Collective: "allreduce", Algorithm: selection.MPI}, {Collective: "bcast", Algorithm: selection.MPI}})
	require.NoError(t, err)
	for _, learn := range []string{"", os.DevNull} {
		cfg := runtime.Config{Learn: learn, MPI: true, Reproducible: true, Rules: rules}
		virtual(t, 3, mem.Options{Delay: time.Microsecond}, cfg, func(comms []*runtime.Comm) {
			c := callers(t, comms, runtime.Shape{Collective: "allreduce", Bytes: 64}, 0, 200)
			require.NotContains(t, string(c.turn), "m")
			require.Contains(t, string(callers(t, comms, runtime.Shape{Collective: "bcast", Bytes: 64}, 0, 200).turn), "m")
			require.NoError(t, each(comms, func(c *runtime.Comm) error {
				turn, err := c.Turn(context.Background(), runtime.Shape{Collective: "alltoall", Bytes: 64, Counted: true}, false)
				require.Equal(t, runtime.Turn{Calls: 1}, turn)
				return err
			}))
		})
	}
}

// Rules that were learned leave to the MPI what it has done faster, and only where there is one.
func TestTurnByLearnedRules(t *testing.T) {
	name := filepath.Join(t.TempDir(), "learned.json")
	cfg := runtime.Config{Learn: name, MPI: true}
	o := mem.Options{Delay: 50 * time.Microsecond}
	fast, slow := runtime.Shape{Collective: "allreduce", Bytes: 64}, runtime.Shape{Collective: "allreduce", Bytes: 1 << 12}
	read := func() *selection.Rules {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		rules, err := selection.Parse(data)
		require.NoError(t, err, "%s", data)
		return rules
	}
	virtual(t, 4, o, cfg, func(comms []*runtime.Comm) {
		callers(t, comms, fast, time.Nanosecond, 60)
		callers(t, comms, slow, time.Second, 60)
	})
	first := read()
	virtual(t, 4, o, runtime.Config{MPI: true, Rules: first}, func(comms []*runtime.Comm) {
		require.NotContains(t, string(callers(t, comms, fast, 0, 5).turn), "s")
		require.NotContains(t, string(callers(t, comms, slow, 0, 5).turn), "m")
		require.NotContains(t, string(callers(t, comms, runtime.Shape{Collective: "bcast", Bytes: 64}, 0, 5).turn), "m")
	})
	virtual(t, 4, o, runtime.Config{Rules: first}, func(comms []*runtime.Comm) {
		require.NoError(t, times(comms, 5, doing("allreduce", 64)))
		require.Contains(t, comms[0].Ran(), "allreduce/")
		require.NoError(t, times(comms, 1, doing("barrier", 0)))
		require.Contains(t, comms[0].Ran(), "barrier/")
		ctx := context.Background()
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			p, err := c.Prepare(ctx, runtime.Call{Collective: "allreduce", Dst: make([]byte, 64), Src: make([]byte, 64), Fold: sumOf(true)})
			if err != nil {
				return err
			}
			for range 5 { // some of them at once
				err = errors.Join(err, c.Barrier(ctx), p.Start(ctx), p.Wait(ctx))
				require.Contains(t, c.Ran(), "allreduce/")
				err = errors.Join(err, c.Barrier(ctx), p.Do(ctx))
				require.Contains(t, c.Ran(), "allreduce/")
			}
			return err
		}))
	})

	cfg.Rules = first
	virtual(t, 4, o, cfg, func(comms []*runtime.Comm) {
		callers(t, comms, fast, time.Second, 60)
		callers(t, comms, slow, time.Nanosecond, 60)
	})
	virtual(t, 4, o, runtime.Config{MPI: true, Rules: read()}, func(comms []*runtime.Comm) {
		require.NotContains(t, string(callers(t, comms, fast, 0, 5).turn), "m", "the MPI has become slower")
		require.NotContains(t, string(callers(t, comms, slow, 0, 5).turn), "s")
	})
}

func TestTurnRefuses(t *testing.T) {
	virtual(t, 2, mem.Options{}, withMPI, func(comms []*runtime.Comm) {
		ctx := context.Background()
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			require.ErrorIs(t, c.Took(ctx, time.Second), runtime.ErrInput)
			for _, s := range []runtime.Shape{{}, {Collective: "no-such"}, {Collective: "bcast", Root: 2}, {Collective: "bcast", Bytes: -1}, {Collective: "bcast", Ordered: true}} {
				_, err := c.Turn(ctx, s, false)
				require.ErrorIs(t, err, runtime.ErrInput, "%+v", s)
			}
			require.Empty(t, c.Ran())
			return doing("barrier", 0)(c)
		}))
	})
	virtual(t, 2, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			_, err := c.Turn(context.Background(), runtime.Shape{Collective: "barrier"}, false)
			require.ErrorIs(t, err, runtime.ErrInput)
			require.ErrorIs(t, c.Took(context.Background(), 0), runtime.ErrInput)
			return nil
		}))
	})
}
