package transporttest

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/internal/heavy"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// Make returns the transports of size ranks that are connected to each other.
type Make func(t testing.TB, size int) []wire.Transport

// Brief reports whether the race detector is on and time is short. Then no code is tested twice: a
// transport that builds on another one skips the tests of code that both share, and Comm leaves out
// CommItself.
func Brief() bool { return heavy.Race && testing.Short() }

// Comm tests communicators over transports from with: every collective operation, and every way in
// which one can fail. If time is short, it uses fewer numbers of ranks.
func Comm(t *testing.T, with Make) {
	sizes := manySizes
	if testing.Short() {
		sizes = fewSizes
	}
	collectives(t, with, &sizes)
	for _, test := range everywhere {
		t.Run(test.name, func(t *testing.T) { test.run(t, with) })
	}
	if !Brief() {
		CommItself(t, with)
	}
}

// CommItself is the part of Comm that depends only on the communicator, and the part whose ends
// take time. If the tests are brief, one transport passes it for all.
func CommItself(t *testing.T, with Make) {
	for _, test := range once {
		t.Run(test.name, func(t *testing.T) { test.run(t, with) })
	}
}

// CommDaily runs Comm with SCHEDGEN_HEAVY, and CommSample without it. The transports mem and tcp
// always run Comm, so the others need not test code that does not depend on the transport.
func CommDaily(t *testing.T, with Make) {
	suite := heavy.Or(CommSample, Comm)
	suite(t, with)
}

// CommSample is the part of Comm that depends on the transport, with fewer ranks. A transport that
// has passed Comm passes CommSample again with another layer below it, or with other schedules.
// Without SCHEDGEN_HEAVY, it takes one number of ranks for each collective.
func CommSample(t *testing.T, with Make) {
	collectives(t, with, heavy.Or(&oddSizes, &fewSizes))
	for _, test := range everywhere {
		t.Run(test.name, func(t *testing.T) { test.run(t, with) })
	}
}

// commSizes are numbers of ranks, by collective.
type commSizes struct{ bcast, barrier, anycast, blocks, puts []int }

var (
	manySizes = commSizes{[]int{1, 2, 3, 5, 8}, []int{1, 2, 3, 6, 9}, []int{1, 2, 3, 6, 8, 9}, []int{1, 2, 5, 8}, []int{2, 5, 8}}
	fewSizes  = commSizes{[]int{3, 5}, []int{2, 6}, []int{2, 6}, []int{3}, []int{2, 5, 8}}
	oddSizes  = commSizes{[]int{5}, []int{6}, []int{6}, []int{3}, []int{5}} // no power of two
)

// collectives tests every algorithm with these numbers of ranks.
func collectives(t *testing.T, with Make, sizes *commSizes) {
	t.Run("Bcast", func(t *testing.T) { testBcast(t, with, sizes.bcast) })
	t.Run("Barrier", func(t *testing.T) { testBarrier(t, with, sizes.barrier) })
	t.Run("Anycast", func(t *testing.T) { testAnycast(t, with, sizes.anycast) })
	t.Logf("of what puts blocks, a sample has algorithms %d, %d, …", drawn, drawn+3)
	t.Run("Blocks", func(t *testing.T) { testBlocks(t, with, sizes.blocks) })
	t.Run("Folds", func(t *testing.T) { testFolds(t, with, sizes.blocks) })
	t.Run("Puts", func(t *testing.T) { testPuts(t, with, sizes.puts) })
}

// drawn selects, for tests of a sample, a third of the algorithms that do not multicast.
var drawn = rand.IntN(3)

// inTurn returns the numbers of ranks for algorithm i. With SCHEDGEN_HEAVY these are all numbers.
// Otherwise these are one number that is no power of two, and one of the others in turn. In a
// sample these are its only number for algorithms that multicast or are drawn, and none for the
// rest.
func inTurn(i int, a *schedule.Algorithm, numbers []int) []int {
	odd := slices.Index(numbers, 5)
	switch {
	case heavy.Tests():
		return numbers
	case odd >= 0:
		others := slices.Delete(slices.Clone(numbers), odd, odd+1)
		return []int{numbers[odd], others[i%len(others)]}
	case a.Multicasts() || i%3 == drawn:
		return numbers
	}
	return nil
}

// commTest is a test of communicators.
type commTest struct {
	name string
	run  func(t *testing.T, with Make)
}

// everywhere are tests of puts, and of losses on their way.
var everywhere = []commTest{
	{"BackToBack", testBackToBack},
	{"Held", testHeld},
	{"Large", testLarge},
	{"Mixed", testMixed},
	{"Requests", testRequests},
	{"Flush", testFlush},
	{"LeftAmongMulticasts", testLeftAmongMulticasts},
	{"Ask", testAsk},
	{"AskDeath", testAskDeath},
	{"Cancel", testCancel},
	{"Crash", testCrash},
	{"Agree", testAgree},
	{"Shrink", testShrink},
	{"Leave", testLeave},
	{"Close", testClose},
}

// once are the tests of CommItself.
var once = []commTest{
	{"Bytes", testBytes},
	{"Lent", testLent},
	{"Delay", testDelay},
	{"RequestDone", testRequestDone},
	{"RequestWait", testRequestWait},
	{"RequestContext", testRequestContext},
	{"RequestClose", testRequestClose},
	{"RequestCrash", testRequestCrash},
	{"Window", putOrMulticast(testWindow)},
	{"SlowReader", putOrMulticast(testSlowReader)},
	{"FlushDeath", putOrMulticast(testFlushDeath)},
	{"RelayLeft", testRelayLeft},
	{"AskInput", testAskInput},
	{"AskRefused", testAskRefused},
	{"SlowAnswer", testSlowAnswer},
	{"AskLeave", testAskLeave},
	{"AskClose", testAskClose},
	{"Mismatch", testMismatch},
	{"BlockLengths", testBlockLengths},
	{"BlockCounts", testBlockCounts},
	{"BlockCountsDiffer", testBlockCountsDiffer},
	{"Belated", testBelated},
	{"Truth", testTruth},
	{"Parted", CommParted},
	{"Farewell", testFarewell},
	{"Refused", testRefused},
	{"Forsaken", putOrMulticast(testForsaken)},
	{"Bereft", putOrMulticast(testBereft)},
}

// patience bounds every wait of the suite, even on slow machines.
const patience = 60 * time.Second

// join makes a communicator of size ranks. At its end, the test checks that the communicator leaves
// nothing behind.
func join(t testing.TB, with Make, size int, cfg runtime.Config) []*runtime.Comm {
	return joinEach(t, with, size, func(int) runtime.Config { return cfg })
}

// joinEach is like join, with a configuration for each rank.
func joinEach(t testing.TB, with Make, size int, cfg func(rank int) runtime.Config) []*runtime.Comm {
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	comms := []*runtime.Comm{}
	for rank, tr := range with(t, size) {
		c := cfg(rank)
		c.Transport = tr
		comm, err := runtime.Join(t.Context(), c)
		require.NoError(t, err)
		use(t, comm, c)
		comms = append(comms, comm)
	}
	t.Cleanup(func() { closeAll(t, comms) })
	return comms
}

func closeAll(t testing.TB, comms []*runtime.Comm) {
	var wg sync.WaitGroup
	for _, c := range comms {
		wg.Go(func() {
			if err := c.Close(); err != nil {
				t.Errorf("close rank %d: %v", c.Rank(), err)
			}
		})
	}
	wg.Wait()
}

// each runs f at all ranks at the same time and returns their errors.
func each(t testing.TB, comms []*runtime.Comm, f func(ctx context.Context, c *runtime.Comm) error) []error {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	errs := make([]error, len(comms))
	var wg sync.WaitGroup
	for i, c := range comms {
		wg.Go(func() { errs[i] = f(ctx, c) })
	}
	wg.Wait()
	return errs
}

// all is like each, and fails the test unless f succeeds at every rank.
func all(t testing.TB, comms []*runtime.Comm, f func(ctx context.Context, c *runtime.Comm) error) {
	t.Helper()
	for i, err := range each(t, comms, f) {
		// the first of several errors need not be the cause
		assert.NoError(t, err, "rank %d", comms[i].Rank())
	}
	if t.Failed() {
		t.FailNow()
	}
}
