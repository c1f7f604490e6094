package transporttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/schedule"
)

// Split tests several communicators over the same transports: Split and Dup, and that no
// communicator delays, fails or ends another.
func Split(t *testing.T, with Make) { network{with, false, &fewScope}.pass(t, apart, splitOnce) }

// SplitVirtual is Split in virtual time, as [CommVirtual].
func SplitVirtual(t *testing.T, with Make) {
	network{with, true, &fewScope}.pass(t, apart, splitOnce)
}

// SplitDaily is Split in the stage [heavy.Transports], and otherwise the part of it that depends on
// the transport.
func SplitDaily(t *testing.T, with Make) {
	if heavy.Transports.Runs() {
		Split(t, with)
	} else {
		network{with, false, &carriedScope}.pass(t, apart)
	}
}

// apart are the tests of what transports do for several communicators: lanes that do not hold each
// other up (AtOnce, Late), numbers that are used again (Reuse), ends of ranks with several
// communicators (Crash), windows and multicast groups.
var apart = []commTest{
	whole("AtOnce", testAtOnce),
	{"Late", testLateApart},
	whole("Reuse", testReuse),
	whole("Crash", testCrashApart),
	whole("Windows", testWindowsApart),
	whole("WindowsOfHeirs", testWindowsOfHeirs),
	whole("WindowsAgain", testWindowsAgain),
	whole("WindowsLent", testWindowsLent),
	whole("Groups", testGroups),
	whole("ManyGroups", testManyGroups),
	whole("GroupOfHeir", testGroupOfHeir),
}

// splitOnce are the tests of rules of the protocol, as once.
var splitOnce = []commTest{
	{"Parity", testParity},
	whole("Order", testSplitOrder),
	whole("Undefined", testUndefined),
	whole("Nested", testNested),
	whole("Dup", testDup),
	whole("Hosts", testSplitHosts),
	whole("Anycast", testAnycastApart),
	whole("TooMany", testTooMany),
	whole("Overlapping", testOverlapping),
	whole("Crossed", testCrossed),
	{"CloseOrder", testCloseOrder},
	whole("CloseChild", testCloseChild),
	whole("Cancel", testCancelApart),
	whole("CancelSplit", testCancelSplit),
	whole("Mismatch", testSplitMismatch),
	{"Parted", testSplitParted},
	{"WindowsMismatch", testWindowsMismatch},
}

// splits are sizes of communicators to split.
var splits = []int{1, 2, 3, 6, 7}

// divide splits comms and returns the new communicator of each rank, or nil for a rank that is not
// a member. They are closed in the end.
func divide(t testing.TB, comms []*runtime.Comm, color, key func(rank int) int) []*runtime.Comm {
	t.Helper()
	return derive(t, comms, func(ctx context.Context, c *runtime.Comm) (*runtime.Comm, error) {
		return c.Split(ctx, color(c.Rank()), key(c.Rank()))
	})
}

func derive(t testing.TB, comms []*runtime.Comm, from func(ctx context.Context, c *runtime.Comm) (*runtime.Comm, error)) []*runtime.Comm {
	t.Helper()
	children := slices.Repeat([]*runtime.Comm{nil}, len(comms))
	t.Cleanup(func() { closeAll(t, present(children)) })
	all(t, comms, func(ctx context.Context, c *runtime.Comm) (err error) {
		children[slices.Index(comms, c)], err = from(ctx, c)
		return err
	})
	return children
}

// present returns the communicators of comms that are not nil.
func present(comms []*runtime.Comm) []*runtime.Comm {
	return slices.DeleteFunc(slices.Clone(comms), func(c *runtime.Comm) bool { return c == nil })
}

func constant(int) int      { return 0 }
func parity(rank int) int   { return rank % 2 }
func identity(rank int) int { return rank }

// exercise runs every collective operation on comms, from every root, and rootless messages beside
// them.
func exercise(t testing.TB, comms []*runtime.Comm) {
	t.Helper()
	all(t, present(comms), work)
}

func work(ctx context.Context, c *runtime.Comm) error {
	err := together(ctx,
		func(ctx context.Context) error { return publish(ctx, c, 10) },
		func(ctx context.Context) error { return receive(ctx, c, 10*(c.Size()-1)) },
		func(ctx context.Context) error { return bcastsAndBarriers(ctx, c, 2*c.Size()) })
	if err != nil {
		return err
	}
	return c.Barrier(ctx)
}

func testParity(t *testing.T, with network) {
	for _, size := range splits {
		with.run(t, fmt.Sprint("ranks=", size), func(t *testing.T) {
			comms := join(t, with, size, runtime.Config{Chunk: 3000})
			children := divide(t, comms, parity, identity)
			for rank, c := range children {
				require.Equal(t, rank/2, c.Rank())
				require.Equal(t, (size+1-rank%2)/2, c.Size())
			}
			exercise(t, children)
			exercise(t, comms)
		})
	}
}

// testSplitOrder: members are in the order of their keys, and of their ranks if the keys are equal.
func testSplitOrder(t *testing.T, with network) {
	comms := join(t, with, 7, runtime.Config{})
	for _, test := range []struct {
		key  func(rank int) int
		want []int // rank in c -> rank in the new one
	}{
		{func(rank int) int { return -rank }, []int{6, 5, 4, 3, 2, 1, 0}},
		{func(rank int) int { return rank % 3 }, []int{0, 3, 5, 1, 4, 6, 2}},
		{constant, []int{0, 1, 2, 3, 4, 5, 6}},
	} {
		children := divide(t, comms, constant, test.key)
		for rank, c := range children {
			require.Equal(t, test.want[rank], c.Rank())
		}
		exercise(t, children)
	}
}

func testUndefined(t *testing.T, with network) {
	comms := join(t, with, 5, runtime.Config{})
	// 3 and 4 are alone
	children := divide(t, comms, func(rank int) int { return max(runtime.Undefined, rank-3) }, identity)
	for rank, c := range children {
		require.Equal(t, rank >= 3, c != nil)
	}
	exercise(t, children)
	for _, c := range divide(t, comms, func(int) int { return -7 }, identity) {
		require.Nil(t, c)
	}
	exercise(t, comms)
}

// testNested splits the results of Split again, by halves, down to single ranks.
func testNested(t *testing.T, with network) {
	comms := join(t, with, 6, runtime.Config{Chunk: 3000})
	split := func(of []*runtime.Comm) []*runtime.Comm {
		return derive(t, of, func(ctx context.Context, c *runtime.Comm) (*runtime.Comm, error) {
			return c.Split(ctx, 2*c.Rank()/c.Size(), -c.Rank())
		})
	}
	halves := split(comms)
	quarters := split(halves)
	alone := split(quarters)
	for _, c := range alone {
		require.Equal(t, 1, c.Size())
	}
	for _, list := range [][]*runtime.Comm{alone, quarters, halves, comms} {
		exercise(t, list)
	}
}

func testDup(t *testing.T, with network) {
	comms := join(t, with, 5, runtime.Config{Algorithms: runtime.Algorithms{"barrier": {Name: "barrier/hsb"}}})
	twins := derive(t, comms, func(ctx context.Context, c *runtime.Comm) (*runtime.Comm, error) { return c.Dup(ctx) })
	for rank, c := range twins {
		require.Equal(t, rank, c.Rank())
		require.Equal(t, 5, c.Size())
	}
	exercise(t, twins)
	exercise(t, comms)
}

// testSplitHosts: the hosts in Config refer to the ranks of the first communicator.
func testSplitHosts(t *testing.T, with network) {
	p := schedule.Params{Hosts: 5}
	cfg := runtime.Config{Algorithms: runtime.Algorithms{"barrier": {Name: "barrier/hsb", Params: p}, "bcast": {Name: "bcast/chain", Params: p}}}
	comms := join(t, with, 5, cfg)
	exercise(t, divide(t, comms, parity, identity))
	exercise(t, comms)
}

// testAtOnce runs collectives of parents and children at the same time, each in its own goroutine.
func testAtOnce(t *testing.T, with network) {
	comms := join(t, with, 7, runtime.Config{Chunk: 3000})
	halves := divide(t, comms, parity, identity)
	twins := divide(t, comms, constant, func(rank int) int { return -rank })
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		return together(ctx,
			func(ctx context.Context) error { return work(ctx, c) },
			func(ctx context.Context) error { return work(ctx, halves[c.Rank()]) },
			func(ctx context.Context) error { return work(ctx, twins[c.Rank()]) })
	})
}

// testLateApart: chunks for a rank that is late for one communicator's operation wait for it, and
// do not delay the other communicator.
func testLateApart(t *testing.T, with network) {
	for name := range with.broadcasts {
		with.run(t, name, func(t *testing.T) {
			comms := join(t, with, 3, runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: name}}, Repair: 2 * time.Millisecond})
			twins := divide(t, comms, constant, identity)
			late := signal()
			all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
				twin := twins[c.Rank()]
				first := func(ctx context.Context) error {
					if c.Rank() == 2 {
						select {
						case <-late:
						case <-ctx.Done():
							return context.Cause(ctx)
						}
					}
					for i := range uint64(4) {
						if err := bcast(ctx, c, i, buffer(100_000), 0); err != nil {
							return err
						}
					}
					return nil
				}
				second := func(ctx context.Context) error {
					if err := work(ctx, twin); err != nil {
						return err
					}
					if err := twin.Barrier(ctx); err != nil {
						return err
					}
					if c.Rank() == 2 {
						close(late) // the other communicator has continued without it
					}
					return nil
				}
				return together(ctx, first, second)
			})
		})
	}
}

// testAnycastApart: rootless messages stay in their communicator.
func testAnycastApart(t *testing.T, with network) {
	comms := join(t, with, 6, runtime.Config{PublishWindow: 3})
	children := divide(t, comms, parity, identity)
	for i, list := range [][]*runtime.Comm{comms, children} {
		all(t, list, func(ctx context.Context, c *runtime.Comm) error {
			return c.Publish(ctx, []byte{byte(i), byte(list[0].Size())})
		})
	}
	for i, list := range [][]*runtime.Comm{comms, children} {
		all(t, list, func(ctx context.Context, c *runtime.Comm) error {
			for range c.Size() - 1 {
				m, err := c.Next(ctx)
				if err != nil {
					return err
				}
				if int(m.Data[0]) != i || m.Origin == c.Rank() || m.Origin >= c.Size() {
					return fmt.Errorf("rank %d of %d: message %v of rank %d", c.Rank(), c.Size(), m.Data, m.Origin)
				}
			}
			_, more, err := c.TryNext()
			if more {
				return errors.New("a message too many")
			}
			return err
		})
	}
}

// testReuse makes more communicators in turn than there are numbers.
func testReuse(t *testing.T, with network) {
	comms := join(t, with, 3, runtime.Config{})
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		for i := range 300 {
			child, err := c.Split(ctx, (c.Rank()+i)%2, i*c.Rank())
			if err != nil {
				return fmt.Errorf("split %d: %w", i, err)
			}
			if err := bcast(ctx, child, uint64(i), buffer(100), i%child.Size()); err != nil {
				return fmt.Errorf("split %d: %w", i, err)
			}
			if err := child.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	exercise(t, comms)
}

// testTooMany: when a rank of a new communicator has no free number, all ranks get the same error
// and continue.
func testTooMany(t *testing.T, with network) {
	comms := join(t, with, 3, runtime.Config{})
	pairs := 0
	for ; pairs < 255; pairs++ {
		children := divide(t, comms, func(rank int) int { return rank / 2 }, identity)
		if pairs%50 == 0 {
			exercise(t, children)
		}
	}
	errs := each(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		_, err := c.Dup(ctx)
		return err
	})
	for _, err := range errs {
		require.ErrorIs(t, err, runtime.ErrTooMany)
		require.Equal(t, errs[0].Error(), err.Error())
	}
	exercise(t, comms)
}

// testOverlapping splits overlapping communicators at the same time. The order differs between
// ranks where it may.
func testOverlapping(t *testing.T, with network) {
	const size = 6
	comms := join(t, with, size, runtime.Config{})
	parents := [][]*runtime.Comm{
		comms,
		divide(t, comms, constant, func(rank int) int { return -rank }),
		divide(t, comms, func(rank int) int { return rank / 4 }, identity),
		divide(t, comms, func(rank int) int { return max(rank-1, runtime.Undefined) / 3 }, identity),
		divide(t, comms, parity, identity),
	}
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		var works []func(ctx context.Context) error
		for i, list := range parents {
			if parent := list[c.Rank()]; parent != nil {
				works = append(works, func(ctx context.Context) error { return splitAgain(ctx, parent, uint64(i)) })
			}
		}
		return together(ctx, works...)
	})
}

// testCrossed: a rank may be inside two Splits at once that another rank calls one after the other,
// in either order.
func testCrossed(t *testing.T, with network) {
	comms := join(t, with, 3, runtime.Config{})
	twins := divide(t, comms, constant, identity)
	split := func(c *runtime.Comm) func(ctx context.Context) error {
		return func(ctx context.Context) error { return splitAgain(ctx, c, 1) }
	}
	for first, orders := range [][2][]*runtime.Comm{{comms, twins}, {twins, comms}} {
		all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
			one, other := split(orders[0][c.Rank()]), split(orders[1][c.Rank()])
			if c.Rank() == first {
				return together(ctx, one, other)
			}
			return errors.Join(one(ctx), other(ctx))
		})
	}
}

// splitAgain splits parent again and again, and uses the results.
func splitAgain(ctx context.Context, parent *runtime.Comm, i uint64) error {
	var open []*runtime.Comm
	for round := range 12 {
		child, err := parent.Split(ctx, parent.Rank()%(1+round%3), 0)
		if err != nil {
			return err
		}
		if err := bcast(ctx, child, i, buffer(1000), round%child.Size()); err != nil {
			return err
		}
		if open = append(open, child); len(open) > 3 {
			if err := open[0].Close(); err != nil {
				return err
			}
			open = open[1:]
		}
	}
	for _, c := range open {
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}
