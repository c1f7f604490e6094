package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// called are the collectives that programs call.
func called() (rows []ir.Collective) {
	for _, row := range ir.Collectives() {
		if !row.Published {
			rows = append(rows, row)
		}
	}
	return rows
}

// callOf returns the call of a rank with blocks of n bytes.
func callOf(row *ir.Collective, ranks, root, rank, n int) runtime.Call {
	call := runtime.Call{Collective: row.Name}
	if row.Rooted {
		call.Root = root
	}
	if row.Blocks != nil {
		call.Src = make([]byte, n*row.Held(ranks, root, rank).Count)
		call.Dst = make([]byte, n*row.Wanted(ranks, root, rank).Count)
	}
	if row.Inputs != nil {
		call.Src, call.Fold = append(make([]byte, n*row.Inputs(ranks)), call.Src...), byteSum("sum of bytes", 1)
	}
	return call
}

// byteSum adds bytes, with several bytes to an element.
func byteSum(name string, element int) *runtime.Fold {
	return &runtime.Fold{Name: name, Element: element, Commutes: true, Kernel: func(dst, a, b []byte) {
		for i := range dst {
			dst[i] = a[i] + b[i]
		}
	}}
}

// wrong are ways to make a call wrong, with what the error says of it.
var wrong = []struct {
	name, words string
	change      func(call *runtime.Call, ranks int)
}{
	{"root", "root ", func(call *runtime.Call, ranks int) { call.Root = ranks }},
	{"lengths", "", func(call *runtime.Call, _ int) {
		call.Dst, call.Src = append(call.Dst, make([]byte, 7)...), append(call.Src, make([]byte, 8)...)
	}},
	{"counts", "", func(call *runtime.Call, _ int) {
		call.Counted, call.DstCounts, call.SrcCounts = true, []int{-1}, []int{-1}
	}},
	{"element", "", func(call *runtime.Call, _ int) { call.Element = -1 }},
}

// If one rank alone refuses a call and makes no other, all ranks fail in its words.
func TestRefusedByOneRank(t *testing.T) {
	for _, row := range called() {
		for _, ranks := range []int{2, 3, 5} {
			for _, w := range wrong {
				if w.name == "element" && row.Blocks == nil {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/ranks=%d", row.Name, w.name, ranks), func(t *testing.T) {
					for odd := range ranks {
						for _, root := range []int{0, ranks - 1} {
							refusedBy(t, mem.Options{Windows: (odd+root)%2 == 1}, &row, ranks, root, odd, w.change, w.words)
						}
					}
				})
			}
		}
	}
}

// refusedBy has rank odd make a wrong call while the others make a right one and then a barrier.
func refusedBy(t *testing.T, o mem.Options, row *ir.Collective, ranks, root, odd int, change func(call *runtime.Call, ranks int), words string) {
	virtual(t, ranks, o, runtime.Config{}, func(comms []*runtime.Comm) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		start := time.Now()
		errs := make([]error, ranks)
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			call := callOf(row, ranks, root, c.Rank(), 100)
			if c.Rank() != odd {
				errs[c.Rank()] = c.Do(ctx, call)
				if errs[c.Rank()] == nil {
					errs[c.Rank()] = c.Barrier(ctx)
				}
				return nil
			}
			change(&call, ranks)
			if err := c.Do(ctx, call); !errors.Is(err, runtime.ErrInput) {
				return fmt.Errorf("not refused: %w", err)
			}
			return nil
		}))
		// Others wait for Config.Stall and for a second more, and ask again in between.
		require.LessOrEqual(t, time.Since(start), 2*time.Second)
		time.Sleep(time.Second) // until all ranks know
		text := comms[odd].Err()
		require.Error(t, text)
		require.ErrorContains(t, text, fmt.Sprintf("rank %d has refused operation 2: %s", odd, row.Name))
		require.ErrorContains(t, text, words)
		for rank, c := range comms {
			require.EqualError(t, c.Err(), text.Error(), "rank %d", rank)
			require.ErrorIs(t, c.Err(), runtime.ErrMismatch, "rank %d", rank)
			requireAbout(t, c.Err(), odd)
			if rank != odd {
				require.ErrorIs(t, errs[rank], runtime.ErrMismatch, "rank %d", rank)
				require.ErrorContains(t, errs[rank], "has refused operation 2", "rank %d", rank)
			}
		}
	})
}

func requireAbout(t *testing.T, err error, rank int) {
	t.Helper()
	var about *runtime.RankError
	require.ErrorAs(t, err, &about)
	require.Equal(t, rank, about.Rank)
}

// If the rank calls something else instead, all ranks get both calls and the refused one, in the
// same words, whichever rank is odd.
func TestRefusedAndThenAnotherCall(t *testing.T) {
	for _, ranks := range []int{2, 3, 5} {
		for odd := range ranks {
			t.Run(fmt.Sprintf("ranks=%d/odd=%d", ranks, odd), func(t *testing.T) {
				virtual(t, ranks, mem.Options{Windows: odd%2 == 1}, runtime.Config{}, func(comms []*runtime.Comm) {
					ctx := context.Background()
					require.NoError(t, each(comms, func(c *runtime.Comm) error {
						if err := c.Barrier(ctx); err != nil {
							return err
						}
						root := 1
						if c.Rank() == odd {
							root = ranks
						}
						err := c.Bcast(ctx, make([]byte, 40), root)
						if c.Rank() == odd && !errors.Is(err, runtime.ErrInput) {
							return fmt.Errorf("not refused: %w", err)
						}
						for range 10 {
							err = c.Barrier(ctx)
						}
						if !errors.Is(err, runtime.ErrMismatch) {
							return fmt.Errorf("no mismatch: %w", err)
						}
						return nil
					}))
					text := comms[odd].Err().Error()
					require.Contains(t, text, "operation 2: ")
					require.Regexp(t, fmt.Sprintf(`rank %d called barrier by [^,]* \(after a refused call: bcast: root %d outside 0 … %d\)`, odd, ranks, ranks-1), text)
					require.Contains(t, text, " called bcast of 40 bytes from root 1 by ")
					for rank, c := range comms {
						require.EqualError(t, c.Err(), text, "rank %d", rank)
					}
				})
			})
		}
	}
}

// A refused call that was made good has nothing to do with a later mismatch.
func TestMismatchLongAfterARefusal(t *testing.T) {
	virtual(t, 2, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
		ctx := context.Background()
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			if c.Rank() == 1 {
				_ = c.Bcast(ctx, nil, 7)
			}
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			if c.Rank() == 1 {
				_ = c.Barrier(ctx)
			} else {
				_ = c.Bcast(ctx, make([]byte, 40), 0)
			}
			_ = c.Barrier(ctx)
			return nil
		}))
		require.ErrorIs(t, comms[0].Err(), runtime.ErrMismatch)
		require.NotContains(t, comms[0].Err().Error(), "refused")
	})
}

// A rank whose call was refused may call again. It has a second from when others ask for it;
// refused calls in between give it no more time.
func TestRefusedCallIsMadeGood(t *testing.T) {
	const stall = 250 * time.Millisecond // the default
	for _, late := range []time.Duration{0, stall, stall + 900*time.Millisecond, stall + 1100*time.Millisecond} {
		t.Run(fmt.Sprint(late), func(t *testing.T) {
			virtual(t, 3, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
				errs := make([]error, len(comms))
				require.NoError(t, each(comms, func(c *runtime.Comm) error {
					if c.Rank() == 1 {
						for range 5 {
							if err := c.Bcast(context.Background(), nil, 3); err == nil {
								return errors.New("root 3 of 3 ranks")
							}
							time.Sleep(late / 5)
						}
					}
					errs[c.Rank()] = c.Barrier(context.Background())
					return nil
				}))
				for rank, err := range errs {
					if late < stall+time.Second {
						require.NoError(t, err, "rank %d", rank)
						continue
					}
					require.ErrorIs(t, err, runtime.ErrMismatch, "rank %d", rank)
					require.ErrorContains(t, err, "rank 1 has refused operation 1: bcast: root 3 outside 0 … 2", "rank %d", rank)
				}
			})
		})
	}
}

// A rank that refuses a call while others have long waited for it fails them at its next refusal of
// a call that they still wait for.
func TestRefusedWhenOthersWait(t *testing.T) {
	virtual(t, 3, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
		start := time.Now()
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			if c.Rank() < 2 {
				if err := c.Barrier(context.Background()); !errors.Is(err, runtime.ErrMismatch) {
					return fmt.Errorf("no mismatch: %w", err)
				}
				return nil
			}
			time.Sleep(10 * time.Second)
			_ = c.Bcast(context.Background(), nil, 3)
			return nil
		}))
		require.LessOrEqual(t, time.Since(start), 11*time.Second+time.Millisecond)
	})
}

// If Config.Stall is negative, no rank asks, and the refused call may be repeated at any time.
func TestRefusedWithoutQuestions(t *testing.T) {
	virtual(t, 2, mem.Options{}, runtime.Config{Stall: -1}, func(comms []*runtime.Comm) {
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			if c.Rank() == 1 {
				_ = c.Bcast(context.Background(), nil, 3)
				time.Sleep(time.Minute)
			}
			return c.Barrier(context.Background())
		}))
	})
}

// All calls that count report their refusals, and no other calls do.
func TestWhichCallsAreRefused(t *testing.T) {
	var none context.Context
	ctx := context.Background()
	request := func(_ *runtime.Request, err error) error { return err }
	for name, call := range map[string]func(c *runtime.Comm) error{
		"Bcast":           func(c *runtime.Comm) error { return c.Bcast(ctx, nil, -1) },
		"BcastElements":   func(c *runtime.Comm) error { return c.BcastElements(ctx, nil, 0, 0) },
		"BcastBytes":      func(c *runtime.Comm) error { _, err := c.BcastBytes(ctx, nil, 2); return err },
		"GatherBytes":     func(c *runtime.Comm) error { _, err := c.GatherBytes(ctx, nil, 2); return err },
		"AllgatherBytes":  func(c *runtime.Comm) error { _, err := c.AllgatherBytes(none, nil); return err },
		"AlltoallBytes":   func(c *runtime.Comm) error { _, err := c.AlltoallBytes(ctx, nil); return err },
		"ScatterBytes":    func(c *runtime.Comm) error { _, err := c.ScatterBytes(ctx, nil, 0); return err },
		"StartBcast":      func(c *runtime.Comm) error { return request(c.StartBcast(ctx, nil, 2)) },
		"StartBarrier":    func(c *runtime.Comm) error { return request(c.StartBarrier(none)) },
		"Collective":      func(c *runtime.Comm) error { return c.Collective(ctx, "allgather", make([]byte, 3), nil, 0) },
		"StartCollective": func(c *runtime.Comm) error { return request(c.StartCollective(ctx, "no such", nil, nil, 0)) },
		"Barrier":         func(c *runtime.Comm) error { return c.Barrier(none) },
		"Split":           func(c *runtime.Comm) error { _, err := c.Split(none, 0, 0); return err },
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, 2, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
				require.ErrorIs(t, call(comms[0]), runtime.ErrInput)
				require.ErrorContains(t, comms[1].Barrier(ctx), "rank 0 has refused operation 1: ")
			})
		})
	}
	t.Run("Publish", func(t *testing.T) {
		virtual(t, 2, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
			require.ErrorIs(t, comms[0].Publish(none, nil), runtime.ErrInput)
			short, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			require.ErrorIs(t, comms[1].Barrier(short), context.DeadlineExceeded)
		})
	})
}
