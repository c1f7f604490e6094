package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// elders wants more than half of the ranks, or half of them with rank 0.
func elders(left []int, of int) bool {
	return runtime.Majority(left, of) || 2*len(left) == of && left[0] == 0
}

// elect calls f at all ranks of a network that sees says how to cut: whether a rank reaches another
// one. It closes the communicators that f returns.
func elect(t *testing.T, size int, quorum func([]int, int) bool, sees func(a, b int) bool, f func(p *process, c *runtime.Comm) (*runtime.Comm, error)) {
	synctest.Test(t, func(t *testing.T) {
		ts, err := mem.New(size, mem.Options{})
		require.NoError(t, err)
		ps, comms := make([]*process, size), make([]*runtime.Comm, size)
		for rank, tr := range ts {
			ps[rank] = &process{Transport: tr}
			comms[rank], err = runtime.Join(t.Context(), runtime.Config{Transport: ps[rank], Silence: silence, Quorum: quorum})
			require.NoError(t, err)
		}
		require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Barrier(t.Context()) }))
		for rank, p := range ps {
			for other := range size {
				if other != rank && !sees(rank, other) {
					p.beyond.Or(1 << other)
				}
			}
		}
		last := make([]*runtime.Comm, size)
		require.NoError(t, each(comms, func(c *runtime.Comm) (err error) {
			rank := c.Rank()
			last[rank], err = f(ps[rank], c)
			return err
		}))
		require.NoError(t, each(last, (*runtime.Comm).Close)) // all at once: goodbyes pass the cut
	})
}

// Of the parts of a cut network, only one that Quorum allows goes on. All ranks of the others get
// an error that says which ranks are left.
func TestQuorumOfParts(t *testing.T) {
	for _, c := range []struct {
		name   string
		quorum func(left []int, of int) bool
		parts  [][]int
		goesOn []bool // by part
	}{
		{"none", nil, [][]int{{0, 1}, {2}}, []bool{true, true}},
		{"2+1", runtime.Majority, [][]int{{0, 1}, {2}}, []bool{true, false}},
		{"1+2", runtime.Majority, [][]int{{0}, {1, 2}}, []bool{false, true}},
		{"2+2", runtime.Majority, [][]int{{0, 2}, {1, 3}}, []bool{false, false}},
		{"elders", elders, [][]int{{1, 3}, {0, 2}}, []bool{false, true}},
		{"2+2+1", runtime.Majority, [][]int{{0, 2}, {1, 3}, {4}}, []bool{false, false, false}},
		{"8+1", runtime.Majority, [][]int{{0, 1, 2, 3, 5, 6, 7, 8}, {4}}, []bool{true, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			size, partOf := 0, map[int]int{}
			for part, ranks := range c.parts {
				size += len(ranks)
				for _, rank := range ranks {
					partOf[rank] = part
				}
			}
			together := func(a, b int) bool { return partOf[a] == partOf[b] }
			elect(t, size, c.quorum, together, func(_ *process, comm *runtime.Comm) (*runtime.Comm, error) {
				ctx, rank := context.Background(), comm.Rank()
				mine := c.parts[partOf[rank]]
				if err := comm.Barrier(ctx); !errors.Is(err, runtime.ErrPeerLost) {
					return comm, fmt.Errorf("rank %d notices no cut: %w", rank, err)
				}
				next, err := comm.Shrink(ctx)
				if !c.goesOn[partOf[rank]] {
					want := fmt.Sprintf("shrink: rank %d, epoch 1: too few ranks are left: %d of %d, which were ranks %v at first", rank, len(mine), size, mine)
					if !errors.Is(err, runtime.ErrQuorum) || err.Error() != want {
						return comm, fmt.Errorf("want %q, got %w", want, err)
					}
					if _, err = comm.Shrink(ctx); err == nil || err.Error() != want {
						return comm, fmt.Errorf("again: want %q, got %w", want, err)
					}
					return comm, nil
				}
				if err != nil {
					return comm, err
				}
				if next.Size() != len(mine) {
					err = fmt.Errorf("%d ranks of %v", next.Size(), mine)
				}
				return next, errors.Join(err, next.Barrier(ctx))
			})
		})
	}
}

// If a rank reaches both parts of a network, at most one communicator goes on.
func TestQuorumWithARankBetween(t *testing.T) {
	for _, c := range []struct{ size, between int }{{3, 0}, {3, 1}, {3, 2}, {5, 0}, {5, 2}, {5, 4}, {7, 3}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			side := func(rank int) bool { return (rank+c.size-c.between)%c.size <= c.size/2 } // of ranks other than between
			sees := func(a, b int) bool { return a == c.between || b == c.between || side(a) == side(b) }
			worlds := make([][]byte, c.size) // by rank: the ranks of the communicator in which it has exchanged
			elect(t, c.size, runtime.Majority, sees, func(_ *process, comm *runtime.Comm) (*runtime.Comm, error) {
				rank := comm.Rank()
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // some that reach it give up
				defer cancel()
				for {
					err := comm.Barrier(ctx)
					if err == nil {
						ranks := make([]byte, comm.Size())
						if err = comm.Collective(ctx, "allgather", ranks, []byte{byte(rank)}, 0); err == nil {
							err = comm.Barrier(ctx)
						}
						if err == nil {
							worlds[rank] = ranks
							return comm, nil
						}
					}
					next, err := comm.Shrink(ctx)
					if err != nil {
						return comm, nil
					}
					comm = next
				}
			})
			var world []byte
			for rank, ranks := range worlds {
				t.Log("rank", rank, "goes on with", ranks)
				if ranks == nil {
					continue
				}
				if world == nil {
					world = ranks
				}
				require.Equal(t, world, ranks)
			}
		})
	}
}

// Quorum counts the ranks of the communicator that Join or Split has made, however often it has
// been shrunk, and through Dup.
func TestQuorumCountsFromTheFirst(t *testing.T) {
	const first, second = 2, 3 // the ranks that die before each of two Shrinks, with rank 0
	for name, c := range map[string]struct {
		make func(c *runtime.Comm, ctx context.Context) (*runtime.Comm, error)
		want string // the error of the second Shrink
	}{
		"shrink": {nil, "too few ranks are left: 2 of 5, which were ranks [1 4] at first"},
		"dup":    {(*runtime.Comm).Dup, "too few ranks are left: 2 of 5, which were ranks [1 4] at first"},
		"split":  {func(c *runtime.Comm, ctx context.Context) (*runtime.Comm, error) { return c.Split(ctx, 0, 0) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := func(int, int) bool { return true }
			var made sync.WaitGroup // the second rank dies when no other needs it for its communicator
			var begun sync.Once     // a WaitGroup belongs to the bubble in which it grows
			elect(t, 5, runtime.Majority, all, func(p *process, comm *runtime.Comm) (last *runtime.Comm, err error) {
				begun.Do(func() { made.Add(3) })
				ctx, rank := context.Background(), comm.Rank()
				if rank == 0 || rank == first {
					return comm, p.Transport.Close(false, 0)
				}
				comm, err = comm.Shrink(ctx)
				if err == nil && c.make != nil {
					defer comm.Close()
					comm, err = c.make(comm, ctx)
				}
				made.Done()
				if err != nil {
					return comm, err
				}
				made.Wait()
				if rank == second {
					return comm, p.Transport.Close(false, 0)
				}
				next, err := comm.Shrink(ctx)
				switch {
				case c.want != "" && (!errors.Is(err, runtime.ErrQuorum) || !strings.HasSuffix(err.Error(), c.want)):
					return comm, fmt.Errorf("rank %d: want %q, got %w", rank, c.want, err)
				case c.want != "":
					return comm, nil
				case err != nil:
					return comm, err
				}
				return next, nil
			})
		})
	}
}
