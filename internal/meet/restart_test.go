package meet

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
)

// A process that dies while others are still missing, and is started again, joins; its host may
// have vanished with it without notice.
func TestRestartedRankJoins(t *testing.T) {
	for _, rank := range []int{0, 1, 20} {
		for _, vanished := range []bool{false, true} {
			t.Run(fmt.Sprintf("rank %d, vanished %v", rank, vanished), func(t *testing.T) {
				inHall(t, 21, func(t *testing.T, h *hall) {
					h.all(t.Context(), 13)
					settle()
					h.kill(rank, vanished)
					settle()
					h.come(t.Context(), rank, nil)
					settle()
					h.come(t.Context(), 13, nil)
					h.met()
				})
			})
		}
	}
}

// A restarted rank is back before the system has reported that it had gone.
func TestRestartedRankIsFasterThanItsEnd(t *testing.T) {
	inHall(t, 10, func(t *testing.T, h *hall) {
		h.all(t.Context(), 5)
		settle()
		for range 3 {
			h.kill(4, true)
			h.come(t.Context(), 4, nil)
			settle()
		}
		h.come(t.Context(), 5, nil)
		h.met()
		require.Less(t, h.ends[0], contact.HelloTime+2*time.Second)
	})
}

// Ranks come, die and come again in any order, until all stay.
func TestRestartsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(2, 40).Draw(rt, "size")
		key := rapid.Bool().Draw(rt, "key")
		steps := rapid.SliceOfN(rapid.IntRange(0, size-1), 0, 30).Draw(rt, "steps")
		pauses := rapid.SliceOfN(rapid.IntRange(0, 60), len(steps), len(steps)).Draw(rt, "pauses")
		last := rapid.IntRange(1, size-1).Draw(rt, "last")
		inBubble(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			h := newHall(t, size)
			if key {
				h.edit = keyed
			}
			h.all(ctx, last)
			for i, rank := range steps {
				time.Sleep(time.Duration(pauses[i]) * time.Millisecond)
				if rank != last {
					h.kill(rank, false)
					time.Sleep(time.Duration(pauses[i]) * time.Millisecond / 2)
					h.come(ctx, rank, nil)
				}
			}
			settle()
			h.come(ctx, last, nil)
			h.met()
		})
	})
}

// Two living processes with one rank are an error that all ranks report soon.
func TestRankThatIsThereTwice(t *testing.T) {
	inHall(t, 12, func(t *testing.T, h *hall) {
		h.all(t.Context(), 7)
		settle()
		var first error
		h.wg.Go(func() {
			other := h.net.host(1 << 20)
			_, _, first = Meet(t.Context(), Config{Rank: 11, Size: 12, Job: "night", Coordinator: meeting, Network: other})
		})
		h.wg.Add(1)
		go func() {
			defer h.wg.Done()
			time.Sleep(contact.HelloTime)
			h.come(t.Context(), 7, nil) // too late for all
			h.quit[7]()
		}()
		h.wg.Wait()
		require.Error(t, first)
		for rank, err := range h.errs {
			switch rank {
			case 7:
			case 11:
				require.ErrorContains(t, err, "another process has come as rank 11, from 10.16.0.0:")
			default:
				require.ErrorContains(t, err, "rank 11 has arrived twice, from 10.0.0.11:", "rank %d", rank)
				require.Less(t, h.ends[rank], faultTime+time.Second, "rank %d", rank)
			}
		}
	})
}

// Rank 0 comes last.
func TestRankZeroComesLast(t *testing.T) {
	inHall(t, 30, func(t *testing.T, h *hall) {
		h.all(t.Context(), 0)
		time.Sleep(5 * time.Minute)
		h.come(t.Context(), 0, nil)
		h.met()
		require.Less(t, h.ends[0], 5*time.Minute+2*time.Second)
	})
}

// If a rank fails to prepare itself, all are told why.
func TestUnpreparedRankFailsAll(t *testing.T) {
	for _, guilty := range []int{0, 1, 20} {
		inHall(t, 21, func(t *testing.T, h *hall) {
			for rank := range h.size {
				h.come(t.Context(), rank, func(c *Config) {
					c.Prepare = func(context.Context, *Meeting) error {
						if rank == guilty {
							return errors.New("no paper")
						}
						return nil
					}
				})
			}
			h.wg.Wait()
			for rank, err := range h.errs {
				require.ErrorContains(t, err, "no paper")
				if rank != guilty {
					require.ErrorContains(t, err, fmt.Sprintf("rank %d: no paper", guilty))
				}
			}
		})
	}
}

// If a rank takes for ever to prepare itself, the ranks whose time is over name it.
func TestSlowPreparationIsNamed(t *testing.T) {
	inHall(t, 6, func(t *testing.T, h *hall) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for rank := range h.size {
			h.come(ctx, rank, func(c *Config) {
				if rank == 4 {
					c.Prepare = func(ctx context.Context, _ *Meeting) error { <-ctx.Done(); return nil }
				}
			})
		}
		time.Sleep(2 * time.Minute)
		h.mu.Lock()
		defer h.mu.Unlock()
		require.ErrorContains(t, h.errs[0], "wait for rank 4 to be prepared")
		require.ErrorContains(t, h.errs[3], "wait for rank 4 to be prepared")
	})
}
