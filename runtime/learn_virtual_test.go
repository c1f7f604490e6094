package runtime_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// sumOf is a sum of uint64, exact or not as far as the runtime knows.
func sumOf(exact bool) *runtime.Fold {
	return &runtime.Fold{Name: "sum of uint64", Element: 8, Commutes: true, Exact: exact, Kernel: func(dst, a, b []byte) {
		for i := 0; i < len(dst); i += 8 {
			binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(a[i:])+binary.LittleEndian.Uint64(b[i:]))
		}
	}}
}

// doing returns a function that calls a collective with blocks of n bytes.
func doing(collective string, n int) func(c *runtime.Comm) error {
	return func(c *runtime.Comm) error {
		ctx := context.Background()
		switch collective {
		case "barrier":
			return c.Barrier(ctx)
		case "bcast":
			return c.Bcast(ctx, make([]byte, n), 0)
		case "allreduce":
			return c.Do(ctx, runtime.Call{Collective: collective, Dst: make([]byte, n), Src: make([]byte, n), Fold: sumOf(true)})
		}
		return c.Do(ctx, runtime.Call{Collective: collective, Dst: make([]byte, n*c.Size()), Src: make([]byte, n)})
	}
}

// times calls do a number of times at all ranks.
func times(comms []*runtime.Comm, n int, do func(c *runtime.Comm) error) error {
	return each(comms, func(c *runtime.Comm) error {
		for range n {
			if err := do(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// learning has rank 0 write no file.
var learning = runtime.Config{Learn: os.DevNull}

// lesson returns what all ranks have learned, which must be the same, about a collective.
func lesson(t require.TestingT, comms []*runtime.Comm, collective string) runtime.Learned {
	var first []runtime.Learned
	for i, c := range comms {
		all := slices.DeleteFunc(c.State().Learned, func(l runtime.Learned) bool { return l.Collective != collective })
		require.NotEmpty(t, all, "rank %d has learned nothing about %s", i, collective)
		if i == 0 {
			first = all
		}
		require.Equal(t, first, all, "rank %d", i)
	}
	return first[0]
}

// draw draws a network, on which each rank is a host of its own, and an operation.
func draw(seed uint64) (size int, o mem.Options, collective string, n int) {
	r := rand.New(rand.NewPCG(seed, 0))
	size = 2 + r.IntN(6)
	o = mem.Options{Seed: seed, NoMulticast: r.IntN(2) == 0, Loss: []float64{0, 0.01}[r.IntN(2)], Delay: time.Duration(r.IntN(50)) * time.Microsecond}
	for range size {
		o.Rates = append(o.Rates, []float64{1e7, 1e8, 1e9}[r.IntN(3)])
	}
	return size, o, []string{"bcast", "allreduce", "allgather"}[seed%3], 8 * (1 + r.IntN(1<<(4+r.IntN(9))))
}

// Among ranks on a network with drawn rates, delays and losses, the choice takes hardly longer than
// any algorithm that was tried takes by itself.
func TestLearnFindsTheFastest(t *testing.T) {
	gains := 0
	for seed := range uint64(12) {
		size, o, collective, n := draw(seed)
		do := doing(collective, n)
		name := fmt.Sprintf("%d/%s of %d bytes among %d", seed, collective, n, size)
		var learned runtime.Learned
		t.Run(name, func(t *testing.T) {
			virtual(t, size, o, learning, func(comms []*runtime.Comm) {
				require.NoError(t, times(comms, 100, do))
				learned = lesson(t, comms, collective)
			})
		})
		took := make(map[string]time.Duration)
		for _, of := range learned.Tried {
			t.Run(name+"/"+of.Algorithm, func(t *testing.T) {
				cfg := runtime.Config{Algorithms: runtime.Algorithms{collective: {Name: of.Algorithm, Params: schedule.Params{Degree: of.Degree}}}}
				virtual(t, size, o, cfg, func(comms []*runtime.Comm) {
					start := time.Now()
					require.NoError(t, times(comms, 100, func(c *runtime.Comm) error {
						return errors.Join(do(c), c.Barrier(context.Background()))
					}))
					took[of.Algorithm] = time.Since(start)
				})
			})
		}
		t.Logf("%s: %v of %v by themselves %v", name, learned.Algorithm, learned.Tried, took)
		for _, of := range learned.Tried {
			require.LessOrEqual(t, float64(took[learned.Algorithm]), 1.3*float64(took[of.Algorithm]), "%s: %+v: %v", name, learned, took)
		}
		if took[learned.Algorithm] < took[learned.Tried[0].Algorithm] {
			gains++
		}

	}
	require.Positive(t, gains)
}

// When the network becomes slow, the ranks notice it by the sum of their times, and choose anew.
func TestLearnNoticesAChange(t *testing.T) {
	slow := []float64{1e7, 1e7, 1e7, 1e7}
	o := mem.Options{Delay: 100 * time.Microsecond, Rates: make([]float64, 4), Later: 10 * time.Second, Then: slow}
	do := doing("allreduce", 1<<14)
	virtual(t, 4, o, learning, func(comms []*runtime.Comm) {
		require.NoError(t, times(comms, 500, do))
		before := lesson(t, comms, "allreduce")
		require.EqualValues(t, 1, before.Trials, "a check of the same network changes nothing")
		time.Sleep(o.Later)
		require.NoError(t, times(comms, 500, do))
		after := lesson(t, comms, "allreduce")
		require.EqualValues(t, 2, after.Trials)
		took := make(map[string]time.Duration)
		for _, of := range after.Tried {
			took[of.Algorithm] = of.Time
		}
		require.Less(t, took[after.Algorithm], took[before.Algorithm])
	})
}

// Ranks agree while multicasts are lost, and go on after a death in the middle of a trial: the ranks
// that are left learn anew.
func TestLearnWithLossesAndADeath(t *testing.T) {
	for after := 1; after < 120; after += 7 {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := mem.Options{Seed: uint64(after), Loss: 0.3, Delay: 10 * time.Microsecond, Windows: after%2 == 0}
				cfg := learning
				cfg.Repair = base
				ts, err := mem.New(5, o)
				require.NoError(t, err)
				comms := make([]*runtime.Comm, len(ts))
				for rank := range ts {
					own := cfg
					own.Transport = ts[rank]
					comms[rank], err = runtime.Join(t.Context(), own)
					require.NoError(t, err)
				}
				do := doing("bcast", 5000)
				shrunk := make([]*runtime.Comm, len(ts))
				require.NoError(t, each(comms, func(c *runtime.Comm) error {
					for i := 0; ; i++ {
						if c.Rank() == 2 && i == after {
							return ts[2].Close(false, 0)
						}
						if err := do(c); err != nil {
							break
						}
					}
					var err error
					shrunk[c.Rank()], err = c.Shrink(context.Background())
					return err
				}))
				require.NoError(t, comms[2].Close())
				left := slices.Delete(shrunk, 2, 3)
				require.NoError(t, times(left, 100, do))
				require.EqualValues(t, 1, lesson(t, left, "bcast").Trials)
				for _, c := range left {
					require.NoError(t, c.Close())
				}
			})
		})
	}
}

// Calls with counts are learned if all ranks know all lengths: by the longest block, and with the
// same calls without counts. Whatever performs a call, its result is right.
func TestLearnWithCounts(t *testing.T) {
	const size, longest = 5, 8 * 90
	counts, starts, sum := make([]int, size), make([]int, size), 0 // in elements of 8 bytes
	for rank := range size {
		counts[rank], starts[rank] = 90*rank/(size-1), sum
		sum += counts[rank]
	}
	value := func(call, rank, i int) uint64 { return uint64(1000*call + 100*rank + i) }
	virtual(t, size, mem.Options{Delay: 50 * time.Microsecond}, learning, func(comms []*runtime.Comm) {
		check := func(c *runtime.Comm, call int) error {
			own := make([]byte, 8*sum)
			for i := range sum {
				binary.LittleEndian.PutUint64(own[8*i:], value(call, c.Rank(), i))
			}
			n, all := counts[c.Rank()], make([]byte, 8*sum)
			if err := c.Do(context.Background(), runtime.Call{Collective: "allgather", Dst: all, Src: own[:8*n], Element: 8, Counted: true, DstCounts: counts}); err != nil {
				return err
			}
			for rank := range size {
				for i := range counts[rank] {
					require.Equal(t, value(call, rank, i), binary.LittleEndian.Uint64(all[8*(starts[rank]+i):]))
				}
			}
			part := make([]byte, 8*n)
			if err := c.Do(context.Background(), runtime.Call{Collective: "reduce-scatter", Dst: part, Src: own, Fold: sumOf(true), Counted: true, SrcCounts: counts}); err != nil {
				return err
			}
			for i := range n {
				require.Equal(t, size*value(call, 0, starts[c.Rank()]+i)+100*size*(size-1)/2, binary.LittleEndian.Uint64(part[8*i:]))
			}
			gather := runtime.Call{Collective: "gather", Src: own[:8*n], Element: 8, Counted: true}
			if c.Rank() == 0 {
				gather.Dst, gather.DstCounts = all, counts
			}
			return c.Do(context.Background(), gather)
		}
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			for call := range 100 {
				if err := check(c, call); err != nil {
					return err
				}
			}
			return nil
		}))
		for _, collective := range []string{"allgather", "reduce-scatter"} {
			learned := lesson(t, comms, collective)
			require.EqualValues(t, 1, learned.Trials, collective)
			require.EqualValues(t, 100, learned.Calls, collective)
			require.Equal(t, 1024, learned.Bytes, "%s of at most %d bytes", collective, longest)
		}
		require.NoError(t, times(comms, 1, doing("allgather", longest)))
		require.EqualValues(t, 101, lesson(t, comms, "allgather").Calls)
		for _, l := range comms[0].State().Learned {
			require.NotEqual(t, "gather", l.Collective)
		}
	})
}

// All rivals for a fold that is not exact give the same bits.
func TestLearnKeepsTheBits(t *testing.T) {
	sum := &runtime.Fold{Name: "sum of float64", Element: 8, Commutes: true, Kernel: func(dst, a, b []byte) {
		for i := 0; i < len(dst); i += 8 {
			x := math.Float64frombits(binary.LittleEndian.Uint64(a[i:])) + math.Float64frombits(binary.LittleEndian.Uint64(b[i:]))
			binary.LittleEndian.PutUint64(dst[i:], math.Float64bits(x))
		}
	}}
	for _, bytes := range []int{8, 800, 80_000} {
		virtual(t, 7, mem.Options{Delay: 100 * time.Microsecond}, learning, func(comms []*runtime.Comm) {
			var mu sync.Mutex
			results := make(map[string]bool)
			require.NoError(t, times(comms, 100, func(c *runtime.Comm) error {
				src, dst := make([]byte, bytes), make([]byte, bytes)
				for i := 0; i < bytes; i += 8 {
					binary.LittleEndian.PutUint64(src[i:], math.Float64bits(1/float64(3+c.Rank()+i)))
				}
				err := c.Do(context.Background(), runtime.Call{Collective: "allreduce", Dst: dst, Src: src, Fold: sum})
				mu.Lock()
				defer mu.Unlock()
				results[string(dst)] = true
				return err
			}))
			require.Len(t, results, 1)
			require.Greater(t, len(lesson(t, comms, "allreduce").Tried), 1)
		})
	}
}

// Rank 0 writes what was learned as rules for later runs, over the rules that it had.
func TestLearnWritesRules(t *testing.T) {
	name := filepath.Join(t.TempDir(), "learned.json")
	base, err := selection.New([]selection.Rule{{Collective: "scan", Algorithm: "scan/chain"}})
	require.NoError(t, err)
	cfg := runtime.Config{Learn: name, Rules: base}
	o := mem.Options{Delay: 100 * time.Microsecond, Rates: []float64{1e7, 1e7, 1e7, 1e7}, NoMulticast: true}
	var learned, twin runtime.Learned
	virtual(t, 4, o, cfg, func(comms []*runtime.Comm) {
		require.NoError(t, times(comms, 100, doing("allreduce", 1<<12)))
		learned = lesson(t, comms, "allreduce")
		dups := make([]*runtime.Comm, len(comms))
		require.NoError(t, each(comms, func(c *runtime.Comm) (err error) {
			dups[c.Rank()], err = c.Dup(context.Background())
			return err
		}))
		require.NoError(t, times(dups, 100, doing("allreduce", 1<<7)))
		twin = lesson(t, dups, "allreduce")
		require.NoFileExists(t, name)
		for _, c := range dups {
			require.NoError(t, c.Close())
		}
	})
	require.Positive(t, learned.Less())
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	rules, err := selection.Parse(data)
	require.NoError(t, err)
	of := selection.Case{Collective: "allreduce", Ranks: 4, Bytes: 1 << 12, Place: selection.OneEach}
	d, ok := rules.Of(of)
	require.True(t, ok)
	require.True(t, d.Own)
	require.Equal(t, learned.Algorithm, d.Rule.Algorithm)
	require.Equal(t, fmt.Sprintf("learned: takes %d %% less than %s", learned.Less(), learned.Tried[0].Algorithm), d.Rule.Reason)
	of.Bytes = 1 << 7
	d, _ = rules.Of(of)
	require.Equal(t, twin.Algorithm, d.Rule.Algorithm)
	d, _ = rules.Of(selection.Case{Collective: "scan", Ranks: 9})
	require.Equal(t, "scan/chain", d.Rule.Algorithm)
}

// Ranks learn nothing about algorithms that Config names, nor from operations that are started or
// prepared. Such operations use the algorithm chosen so far.
func TestLearnFromBlockingCalls(t *testing.T) {
	cfg := learning
	cfg.Algorithms = runtime.Algorithms{"barrier": {Name: "barrier/exchange"}}
	cfg.Observe.Latency = true
	o := mem.Options{Delay: 100 * time.Microsecond, Rates: []float64{1e7, 1e7, 1e7, 1e7}, NoMulticast: true}
	virtual(t, 4, o, cfg, func(comms []*runtime.Comm) {
		ctx := context.Background()
		require.NoError(t, times(comms, 100, doing("barrier", 0)))
		require.NoError(t, times(comms, 100, func(c *runtime.Comm) error {
			r, err := c.StartBcast(ctx, make([]byte, 1000), 0)
			if err != nil {
				return err
			}
			return r.Wait(ctx)
		}))
		require.Empty(t, comms[0].State().Learned)
		require.NoError(t, times(comms, 100, doing("allreduce", 1<<12)))
		learned := lesson(t, comms, "allreduce")
		require.NotEqual(t, learned.Tried[0].Algorithm, learned.Algorithm)
		runs := func() (n uint64) {
			for _, l := range comms[1].State().Latencies {
				if l.Algorithm == learned.Algorithm {
					for _, k := range l.Counts {
						n += k
					}
				}
			}
			return n
		}
		before := runs()
		call := func() runtime.Call {
			return runtime.Call{Collective: "allreduce", Dst: make([]byte, 1<<12), Src: make([]byte, 1<<12), Fold: sumOf(true)}
		}
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			p, err := c.Prepare(ctx, call())
			if err != nil {
				return err
			}
			r, err := c.Start(ctx, call())
			if err != nil {
				return err
			}
			return errors.Join(r.Wait(ctx), p.Do(ctx))
		}))
		require.Equal(t, before+2, runs())
		require.Equal(t, learned, lesson(t, comms, "allreduce"))
	})
}

// A rank that learns and one that does not are a mismatch. New learns nothing.
func TestLearnMustBeSetAlike(t *testing.T) {
	ts, err := mem.New(2, mem.Options{})
	require.NoError(t, err)
	comms := make([]*runtime.Comm, 2)
	for rank, cfg := range []runtime.Config{{}, learning} {
		cfg.Transport = ts[rank]
		comms[rank], err = runtime.Join(t.Context(), cfg)
		require.NoError(t, err)
	}
	err = each(comms, doing("barrier", 0))
	require.ErrorIs(t, err, runtime.ErrMismatch)
	require.ErrorContains(t, err, "learning")
	for _, c := range comms {
		require.NoError(t, c.Close())
	}
	ts, err = mem.New(1, mem.Options{})
	require.NoError(t, err)
	_, err = runtime.New(t.Context(), runtime.Config{Transport: ts[0], Catalog: schedule.Broadcasts(), Learn: os.DevNull})
	require.ErrorIs(t, err, runtime.ErrInput)
	require.ErrorContains(t, err, "Config.Learn")
}
