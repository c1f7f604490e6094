package local_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	goruntime "runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/local"
	"github.com/schedgen/schedgen/runtime/mem"
)

func ExampleRun() {
	err := local.Run(context.Background(), 5, func(ctx context.Context, comm *schedgen.Comm) error {
		sum := []int{comm.Rank()}
		if err := schedgen.Reduce(ctx, comm, sum, schedgen.Sum, 0); err != nil {
			return err
		}
		if comm.Rank() == 0 {
			fmt.Println("sum of all ranks:", sum[0])
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: sum of all ranks: 10
}

// sum sums the ranks' numbers, and returns an error if the sum is wrong.
func sum(ctx context.Context, comm *schedgen.Comm) error {
	got := []int{comm.Rank()}
	if err := schedgen.Allreduce(ctx, comm, got, schedgen.Sum); err != nil {
		return err
	}
	if want := comm.Size() * (comm.Size() - 1) / 2; got[0] != want {
		return fmt.Errorf("%d, not %d", got[0], want)
	}
	return nil
}

func TestSizes(t *testing.T) {
	for _, size := range []int{1, 2, 5, 33} {
		require.NoError(t, local.Run(t.Context(), size, sum))
	}
	require.Error(t, local.Run(t.Context(), 0, sum))
	require.Error(t, local.Run(t.Context(), -1, sum))
}

func TestOptions(t *testing.T) {
	r := local.Ranks{
		Size:    7,
		Network: mem.Options{Seed: 1, Loss: 0.3},
		Config:  schedgen.Config{Algorithms: map[string]schedgen.Algorithm{"bcast": {Name: "bcast/mcast-acktree"}}},
	}
	require.NoError(t, r.Run(t.Context(), func(ctx context.Context, comm *schedgen.Comm) error {
		for root := range comm.Size() {
			got := []int{0}
			if comm.Rank() == root {
				got[0] = root
			}
			if err := schedgen.Bcast(ctx, comm, got, root); err != nil {
				return err
			}
			if got[0] != root {
				return fmt.Errorf("%d of root %d", got[0], root)
			}
		}
		return nil
	}))

	r.Config.Algorithms["bcast"] = schedgen.Algorithm{Name: "bcast/none"}
	require.ErrorIs(t, r.Run(t.Context(), sum), schedgen.ErrInput)

	transports, err := mem.New(1, mem.Options{})
	require.NoError(t, err)
	r.Config = schedgen.Config{Transport: transports[0]}
	require.ErrorIs(t, r.Run(t.Context(), sum), schedgen.ErrInput)
}

// TestFirstError checks that Run returns the error of the rank that has failed first, while the
// others wait for this rank, in a collective or for the context.
func TestFirstError(t *testing.T) {
	wrong := errors.New("wrong")
	for name, others := range map[string]func(ctx context.Context, comm *schedgen.Comm) error{
		"collective": schedgen.Barrier,
		"context":    func(ctx context.Context, _ *schedgen.Comm) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			for ending, want := range map[string]string{"returns": "rank 3: wrong", "exits": "rank 3: its function has ended its goroutine, as t.FailNow does"} {
				err := local.Run(t.Context(), 5, func(ctx context.Context, comm *schedgen.Comm) error {
					if err := schedgen.Barrier(ctx, comm); err != nil {
						return err
					}
					switch {
					case comm.Rank() != 3:
						return others(ctx, comm)
					case ending == "exits":
						goruntime.Goexit()
					}
					return wrong
				})
				require.EqualError(t, err, want)
			}
		})
	}
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := local.Run(ctx, 3, func(ctx context.Context, comm *schedgen.Comm) error {
		if comm.Rank() == 1 {
			cancel()
		}
		return schedgen.Barrier(ctx, comm)
	})
	require.ErrorIs(t, err, context.Canceled)
}

// TestVirtualTime checks that ranks on a slow network take no real time in a bubble.
func TestVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := local.Ranks{Size: 6, Network: mem.Options{Delay: 20 * time.Second}}
		require.NoError(t, r.Run(t.Context(), sum))
		require.Greater(t, time.Since(began), time.Second)
	})
}

// TestQuorum checks that survivors without the quorum cannot go on, also when they are lost one
// after the other.
func TestQuorum(t *testing.T) {
	for name, deaths := range map[string][][]int{"at once": {{0, 2, 4}}, "in turn": {{2, 3}, {0}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := local.Ranks{Size: 5, Config: schedgen.Config{Quorum: schedgen.Majority}}
				require.NoError(t, r.Run(t.Context(), func(ctx context.Context, comm *schedgen.Comm) (err error) {
					rank := comm.Rank()
					for i, dead := range deaths {
						if slices.Contains(dead, rank) {
							return local.ErrDeath
						}
						if err := schedgen.Barrier(ctx, comm); !errors.Is(err, schedgen.ErrPeerLost) {
							return fmt.Errorf("before Shrink %d: %w", i, err)
						}
						next, err := comm.Shrink(ctx)
						switch last := i == len(deaths)-1; {
						case last && errors.Is(err, schedgen.ErrQuorum):
							return comm.Close()
						case last || err != nil:
							return fmt.Errorf("Shrink %d: %w", i, err)
						}
						comm = next
					}
					return nil
				}))
			})
		})
	}
}

// TestDeath checks that the others lose a rank that dies, and go on without it.
func TestDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, victim = 5, 2
		survivors := make([]int, size)
		require.NoError(t, local.Run(t.Context(), size, func(ctx context.Context, comm *schedgen.Comm) error {
			if comm.Rank() == victim {
				return fmt.Errorf("in the first step: %w", local.ErrDeath)
			}
			rank := comm.Rank()
			err := schedgen.Barrier(ctx, comm)
			var lost *schedgen.LostError
			if !errors.As(err, &lost) || len(lost.Ranks) != 1 || lost.Ranks[0] != victim {
				return fmt.Errorf("not the loss of rank %d: %w", victim, err)
			}
			next, err := comm.Shrink(ctx)
			if err != nil {
				return err
			}
			comm = next
			survivors[rank] = comm.Size()
			return errors.Join(sum(ctx, comm), comm.Close())
		}))
		require.Equal(t, []int{4, 4, 0, 4, 4}, survivors)
	})
}
