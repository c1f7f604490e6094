package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
)

// allreduceOf returns an allreduce of buf in place.
func allreduceOf(buf []byte) runtime.Call {
	return runtime.Call{Collective: "allreduce", Dst: buf, Src: buf, Fold: byteSum("sum of bytes", 1)}
}

// Every collective of the table can be prepared, with and without counts, and started many times
// with new data. Plain calls may come between.
func TestPreparedCollectives(t *testing.T) {
	for _, windows := range []bool{false, true} {
		for _, row := range called() {
			for _, counted := range []bool{false, true} {
				if counted && (!row.TakesCounts() || row.Inputs != nil) {
					continue
				}
				for _, ranks := range []int{1, 2, 5} {
					t.Run(fmt.Sprintf("%s/counted=%v/ranks=%d/windows=%v", row.Name, counted, ranks, windows), func(t *testing.T) {
						virtual(t, ranks, mem.Options{Windows: windows}, runtime.Config{}, func(comms []*runtime.Comm) {
							require.NoError(t, each(comms, func(c *runtime.Comm) error { return startsMany(c, &row, counted) }))
						})
					})
				}
			}
		}
	}
}

// startsMany compares starts of a prepared collective with plain calls.
func startsMany(c *runtime.Comm, row *ir.Collective, counted bool) error {
	ctx, root := context.Background(), 0
	if row.Rooted {
		root = c.Size() / 2
	}
	of := func() runtime.Call {
		if counted {
			return countedOf(row, c.Size(), root, c.Rank(), func(block int) int { return 3 * block })
		}
		return callOf(row, c.Size(), root, c.Rank(), blockBytes)
	}
	call, plain := of(), of()
	p, err := c.Prepare(ctx, call)
	if err != nil {
		return err
	}
	for round := range 12 { // more than a core remembers
		for i := range call.Src {
			call.Src[i] = byte(i + 3*round + 5*c.Rank())
		}
		copy(plain.Src, call.Src)
		err := c.Do(ctx, plain)
		if err == nil && round%2 == 0 {
			err = p.Do(ctx)
		} else if err == nil {
			err = errors.Join(p.Start(ctx), c.Barrier(ctx), p.Wait(ctx))
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(call.Dst, plain.Dst) {
			return fmt.Errorf("rank %d, round %d: a start brings other bytes than a call", c.Rank(), round)
		}
	}
	return nil
}

// If one rank prepares something else, all ranks fail there, and each error names that rank.
func TestPrepareMismatch(t *testing.T) {
	for _, row := range called() {
		for _, ranks := range []int{2, 5} {
			for _, odd := range []int{0, ranks - 1} {
				root := ranks / 2
				for _, d := range deviations(&row, ranks, root, odd) {
					t.Run(fmt.Sprintf("%s/ranks=%d/odd=%d/%s", row.Name, ranks, odd, d.name), func(t *testing.T) {
						virtual(t, ranks, mem.Options{Windows: odd == 0}, runtime.Config{}, func(comms []*runtime.Comm) {
							require.NoError(t, each(comms, func(c *runtime.Comm) error {
								call := d.call(c.Rank())
								if c.Rank() == odd {
									call = d.odd(c.Rank())
								}
								_, err := c.Prepare(context.Background(), call)
								if !errors.Is(err, runtime.ErrMismatch) {
									return fmt.Errorf("rank %d: no mismatch: %w", c.Rank(), err)
								}
								return nil
							}))
							text := comms[0].Err()
							for rank, c := range comms {
								require.EqualError(t, c.Err(), text.Error(), "rank %d", rank)
							}
							require.ErrorContains(t, text, fmt.Sprintf("rank %d ", odd))
							require.ErrorContains(t, text, d.its)
							require.ErrorContains(t, text, d.words)
						})
					})
				}
			}
		}
	}
}

// A rank that prepares does not match one that calls.
func TestPrepareIsNoCall(t *testing.T) {
	virtual(t, 3, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
		err := each(comms, func(c *runtime.Comm) error {
			buf := make([]byte, 8)
			if c.Rank() == 1 {
				return c.Do(context.Background(), allreduceOf(buf))
			}
			_, err := c.Prepare(context.Background(), allreduceOf(buf))
			return err
		})
		require.ErrorIs(t, err, runtime.ErrMismatch)
		require.ErrorContains(t, err, "to prepare allreduce of 8 bytes")
	})
}

// Wrong arguments are refused, and the rank can prepare again.
func TestPrepareRefuses(t *testing.T) {
	virtual(t, 2, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
		ctx := context.Background()
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			var none context.Context
			for _, call := range []runtime.Call{{Collective: "none"}, {Collective: "allreduce"}, {Collective: "bcast", Root: 2}} {
				if _, err := c.Prepare(ctx, call); !errors.Is(err, runtime.ErrInput) {
					return fmt.Errorf("%v is not refused: %w", call, err)
				}
			}
			if _, err := c.Prepare(none, runtime.Call{Collective: "barrier"}); !errors.Is(err, runtime.ErrInput) {
				return fmt.Errorf("no context is not refused: %w", err)
			}
			p, err := c.Prepare(ctx, runtime.Call{Collective: "barrier"})
			if err != nil {
				return err
			}
			for _, start := range []func(context.Context) error{p.Start, p.Do, p.Wait} {
				if err := start(none); !errors.Is(err, runtime.ErrInput) {
					return fmt.Errorf("a start without a context is not refused: %w", err)
				}
			}
			return p.Do(ctx)
		}))
	})
}

// A rank that is refused its Prepare and makes no other call fails all ranks, which get its reason.
func TestPrepareRefusedAtOneRank(t *testing.T) {
	virtual(t, 3, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			buf := make([]byte, 8)
			call := allreduceOf(buf)
			if c.Rank() == 1 {
				call.Dst = make([]byte, 9)
			}
			_, err := c.Prepare(context.Background(), call)
			if c.Rank() == 1 && errors.Is(err, runtime.ErrInput) {
				return nil
			}
			if !errors.Is(err, runtime.ErrMismatch) {
				return fmt.Errorf("rank %d: no mismatch: %w", c.Rank(), err)
			}
			return nil
		}))
		require.ErrorContains(t, comms[0].Err(), "rank 1 has refused operation 1: allreduce: dst has 9 bytes")
	})
}

// A start before Wait or Test has told the outcome of the last one is ErrBusy, whether it has ended
// or not, and does not count.
func TestStartWhileStarted(t *testing.T) {
	virtual(t, 2, mem.Options{Delay: time.Millisecond}, runtime.Config{}, func(comms []*runtime.Comm) {
		ctx := context.Background()
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			p, err := c.Prepare(ctx, runtime.Call{Collective: "barrier"})
			if err != nil {
				return err
			}
			if ended, err := p.Test(); !ended || err != nil {
				return fmt.Errorf("it has not been started: %w", err)
			}
			if err := errors.Join(p.Wait(ctx), p.Start(ctx)); err != nil { // nothing to wait for
				return err
			}
			busy := func(when string) error {
				for _, err := range []error{p.Start(ctx), p.Do(ctx)} {
					if !errors.Is(err, runtime.ErrBusy) {
						return fmt.Errorf("%s: not busy: %w", when, err)
					}
				}
				return nil
			}
			if err := busy("inside"); err != nil {
				return err
			}
			<-p.Done()
			if err := errors.Join(busy("ended"), p.Wait(ctx), p.Wait(ctx), p.Start(ctx)); err != nil {
				return err
			}
			for ended := false; !ended; time.Sleep(time.Millisecond) {
				if ended, err = p.Test(); err != nil {
					return err
				}
			}
			return errors.Join(p.Do(ctx), c.Barrier(ctx))
		}))
	})
}

// Call.Ended tells the outcome of each start, which then may be repeated.
func TestPreparedEnded(t *testing.T) {
	virtual(t, 2, mem.Options{Delay: time.Millisecond}, runtime.Config{}, func(comms []*runtime.Comm) {
		ctx := context.Background()
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			ended := make(chan error, 1)
			p, err := c.Prepare(ctx, runtime.Call{Collective: "barrier", Ended: func(err error) { ended <- err }})
			if err != nil {
				return err
			}
			for range 3 {
				if err := errors.Join(p.Start(ctx), <-ended); err != nil {
					return err
				}
			}
			return nil
		}))
	})
}

// Several prepared operations may run at once, and be waited for in any order. Ranks wait in
// different orders here.
func TestSeveralPreparedInFlight(t *testing.T) {
	virtual(t, 3, mem.Options{Delay: time.Millisecond}, runtime.Config{}, func(comms []*runtime.Comm) {
		ctx := context.Background()
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			const several = 6 // more than run at once
			var all [several]*runtime.Prepared
			var bufs [several][]byte
			for i := range all {
				bufs[i] = make([]byte, 1+1000*i)
				var err error
				if all[i], err = c.Prepare(ctx, allreduceOf(bufs[i])); err != nil {
					return err
				}
			}
			for round := range 5 {
				for i, p := range all {
					for k := range bufs[i] {
						bufs[i][k] = byte(i + round + c.Rank())
					}
					if err := p.Start(ctx); err != nil {
						return err
					}
				}
				for i := range all {
					i = (i + 2*c.Rank() + round) % several
					if err := all[i].Wait(ctx); err != nil {
						return err
					}
					if want := byte(3*(i+round) + 3); bufs[i][len(bufs[i])-1] != want {
						return fmt.Errorf("rank %d: operation %d has %d, want %d", c.Rank(), i, bufs[i][0], want)
					}
				}
			}
			return nil
		}))
	})
}

// The end of a wait's context ends only the wait. The end of a start's context fails the
// communicator, as does one that has ended before Prepare.
func TestPreparedContexts(t *testing.T) {
	virtual(t, 2, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
		err := each(comms, func(c *runtime.Comm) error {
			ctx := context.Background()
			p, err := c.Prepare(ctx, runtime.Call{Collective: "barrier"})
			if err != nil {
				return err
			}
			if c.Rank() == 1 {
				time.Sleep(2 * time.Second)
				if err := p.Do(ctx); err != nil {
					return err
				}
				time.Sleep(time.Minute)
				return p.Do(ctx)
			}
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if err := p.Start(ctx); err != nil {
				return err
			}
			if err := p.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("no deadline: %w", err)
			}
			if err := p.Wait(ctx); err != nil {
				return err
			}
			later, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if err := p.Start(later); err != nil {
				return err
			}
			if err := p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("no deadline: %w", err)
			}
			if again := p.Start(ctx); again == nil || !errors.Is(again, context.DeadlineExceeded) {
				return fmt.Errorf("the communicator works: %w", again)
			}
			return nil
		})
		require.ErrorIs(t, err, runtime.ErrAborted)
	})
	virtual(t, 2, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			ctx, cancel := context.WithCancel(context.Background())
			if c.Rank() == 0 {
				cancel()
			}
			defer cancel()
			if _, err := c.Prepare(ctx, runtime.Call{Collective: "barrier"}); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("rank %d: %w", c.Rank(), err)
			}
			return nil
		}))
	})
}

// After a loss and after Close every start returns the error of the communicator. The communicator
// that Shrink makes needs preparations of its own.
func TestPreparedAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ranks, dies = 4, 2
		ctx := context.Background()
		ts, err := mem.New(ranks, mem.Options{Delay: time.Millisecond})
		require.NoError(t, err)
		comms := make([]*runtime.Comm, ranks)
		for rank := range comms {
			comms[rank], err = runtime.Join(ctx, runtime.Config{Transport: ts[rank]})
			require.NoError(t, err)
		}
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			p, err := c.Prepare(ctx, allreduceOf(make([]byte, 8)))
			if err != nil {
				return err
			}
			if err := errors.Join(p.Do(ctx), p.Start(ctx), p.Wait(ctx)); err != nil {
				return err
			}
			if c.Rank() == dies {
				return ts[dies].Close(false, 0)
			}
			var lost *runtime.LostError
			started := p.Start(ctx)
			if started == nil {
				started = p.Wait(ctx)
			}
			for _, err := range []error{started, p.Start(ctx), p.Do(ctx)} {
				if !errors.As(err, &lost) || len(lost.Ranks) != 1 || lost.Ranks[0] != dies {
					return fmt.Errorf("rank %d: no loss of rank %d: %w", c.Rank(), dies, err)
				}
			}
			left, err := c.Shrink(ctx)
			if err != nil {
				return err
			}
			for _, err := range []error{p.Start(ctx), p.Do(ctx)} {
				if !errors.Is(err, runtime.ErrClosed) {
					return fmt.Errorf("rank %d: not closed: %w", c.Rank(), err)
				}
			}
			buf := []byte{1}
			if p, err = left.Prepare(ctx, allreduceOf(buf)); err != nil {
				return err
			}
			if err := p.Do(ctx); err != nil || buf[0] != ranks-1 {
				return fmt.Errorf("rank %d: %v: %w", c.Rank(), buf, err)
			}
			if err := left.Barrier(ctx); err != nil {
				return err
			}
			if err := left.Close(); err != nil {
				return err
			}
			if err := p.Start(ctx); !errors.Is(err, runtime.ErrClosed) {
				return fmt.Errorf("rank %d: not closed: %w", c.Rank(), err)
			}
			return nil
		}))
		_ = comms[dies].Close() // it has died
	})
}

// Multicasts that are lost are repaired in every start.
func TestPreparedLosses(t *testing.T) {
	virtual(t, 6, mem.Options{Loss: 0.3, Seed: 5}, ackTree, func(comms []*runtime.Comm) {
		ctx := context.Background()
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			buf := make([]byte, 5000)
			call := runtime.Call{Collective: "bcast", Dst: buf}
			if c.Rank() == 0 {
				call.Src = buf
			}
			p, err := c.Prepare(ctx, call)
			if err != nil {
				return err
			}
			for round := range 50 {
				if c.Rank() == 0 {
					buf[4999] = byte(round)
				}
				if err := p.Do(ctx); err != nil {
					return err
				}
				if buf[4999] != byte(round) {
					return fmt.Errorf("rank %d has %d in round %d", c.Rank(), buf[4999], round)
				}
			}
			return nil
		}))
	})
}

// Use changes later calls, and no operation that has been prepared.
func TestUseKeepsPrepared(t *testing.T) {
	virtual(t, 3, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
		ctx, hsb := context.Background(), known(t, "barrier/hsb", schedule.Params{Ranks: 3})
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			p, err := c.Prepare(ctx, runtime.Call{Collective: "barrier"})
			if err != nil {
				return err
			}
			if err := c.Use(hsb); err != nil {
				return err
			}
			return errors.Join(p.Do(ctx), c.Barrier(ctx), p.Do(ctx))
		}))
	})
}
