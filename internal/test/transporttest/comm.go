package transporttest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// Make returns the transports of size ranks that are connected to each other.
type Make func(t testing.TB, size int) []wire.Transport

// Brief reports whether the race detector is on and time is short. Then no code is tested twice: a
// transport that builds on another one skips the tests of code that both share.
func Brief() bool { return heavy.Race && testing.Short() }

// Comm tests communicators over transports from with: every collective operation, and every way in
// which one can fail. If time is short, it uses fewer numbers of ranks.
func Comm(t *testing.T, with Make) {
	scope := &manyScope
	if testing.Short() {
		scope = &fewScope
	}
	network{with, false, scope}.pass(t, collectives, everywhere, once)
}

// CommDaily is Comm in the stage [heavy.Transports], and CommSample otherwise.
func CommDaily(t *testing.T, with Make) {
	if heavy.Transports.Runs() {
		Comm(t, with)
	} else {
		CommSample(t, with)
	}
}

// CommSample is the part of Comm that depends on the transport. A transport that has passed
// CommDaily passes it again with another layer below it, or with other schedules. In the stage
// [heavy.Transports], it has every algorithm.
func CommSample(t *testing.T, with Make) {
	scope := &carriedScope
	if heavy.Transports.Runs() {
		scope = &fewScope
	}
	network{with, false, scope}.pass(t, collectives, everywhere)
}

// CommVirtual is Comm in virtual time, with fewer numbers of ranks. Transports from with wait for
// nothing but each other and their clock.
func CommVirtual(t *testing.T, with Make) {
	network{with, true, &fewScope}.pass(t, collectives, everywhere, once)
}

// CommSampleVirtual is CommSample in virtual time, with every algorithm.
func CommSampleVirtual(t *testing.T, with Make) {
	network{with, true, &fewScope}.pass(t, collectives, everywhere)
}

// CollectivesVirtual tests the collective operations in virtual time with more numbers of ranks.
func CollectivesVirtual(t *testing.T, with Make) {
	network{with, true, &manyScope}.pass(t, collectives)
}

// network makes the transports of tests.
type network struct {
	make    Make
	virtual bool // each test has a bubble of [synctest]
	*scope
}

// scope says with which algorithms and numbers of ranks collectives are tested.
type scope struct {
	bcast, barrier, anycast, blocks, puts []int
	only                                  []string // algorithms; nil: all
	variants                              int      // of the parameters of a case, 0: all
}

var (
	manyScope = scope{[]int{1, 2, 3, 5, 8}, []int{1, 2, 3, 6, 9}, []int{1, 2, 3, 6, 8, 9}, []int{1, 2, 5, 8}, []int{2, 5, 8}, nil, 0}
	fewScope  = scope{[]int{5}, []int{6}, []int{6}, []int{3}, []int{5}, nil, 0} // no power of two
	// carriedScope has an algorithm for each way in which messages go: puts to one rank and to many,
	// short and long, by frames, flags and in shared memory, and multicasts that are repaired. It has
	// more ranks once than a rank of shared memory looks at in every Poll.
	carriedScope = scope{[]int{5}, []int{6}, []int{9}, []int{3}, []int{5}, []string{
		"bcast/linear", "bcast/chain", "bcast/mcast-acktree", "bcast/mcast-chain", "barrier/hsb", "barrier/dissemination",
		"anycast/skip-ring", "anycast/mcast-acktree", "allgather/mcast", "alltoall/pairwise", "allreduce/two-shot", "allreduce/mcast-acktree",
	}, 1}
)

// has reports whether an algorithm is tested.
func (s *scope) has(name string) bool { return s.only == nil || slices.Contains(s.only, name) }

// broadcasts are the algorithms of broadcasts that are tested.
func (s *scope) broadcasts(yield func(name string) bool) {
	for _, a := range schedule.AlgorithmsOf(schedule.Bcast) {
		if s.has(a.Name) && !yield(a.Name) {
			return
		}
	}
}

// inTurn returns the numbers of ranks for algorithm i. With SCHEDGEN_HEAVY these are all numbers.
// Otherwise these are one number that is no power of two, and one of the others in turn.
func (s *scope) inTurn(i int, name string) []int {
	odd := slices.Index(s.blocks, 5)
	switch {
	case !s.has(name):
		return nil
	case heavy.Tests() || odd < 0:
		return s.blocks
	}
	others := slices.Delete(slices.Clone(s.blocks), odd, odd+1)
	return []int{s.blocks[odd], others[i%len(others)]}
}

// pass runs tests.
func (n network) pass(t *testing.T, tables ...[]commTest) {
	for _, test := range slices.Concat(tables...) {
		t.Run(test.name, func(t *testing.T) { test.run(t, n) })
	}
}

// run runs a test, or a part of one, that has no parts.
func (n network) run(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { n.bubble(t, test) })
}

// bubble runs test, in a bubble if time is virtual.
func (n network) bubble(t *testing.T, test func(t *testing.T)) {
	if n.virtual {
		synctest.Test(t, test)
	} else {
		test(t)
	}
}

// buffers returns how many bytes a test sends to fill all buffers on the way: n, or fewer if the
// network has no socket.
func (n network) buffers(bytes int) int {
	if n.virtual {
		return bytes / 8
	}
	return bytes
}

// commTest is a test of communicators.
type commTest struct {
	name string
	run  func(t *testing.T, with network)
}

// whole is a test without parts.
func whole(name string, run func(t *testing.T, with network)) commTest {
	return commTest{name, func(t *testing.T, with network) {
		with.bubble(t, func(t *testing.T) { run(t, with) })
	}}
}

// collectives are the tests of algorithms. A transport is tested with those of carriedScope.
var collectives = []commTest{
	{"Bcast", testBcast},
	{"Barrier", testBarrier},
	{"Anycast", testAnycast},
	{"Blocks", testBlocks},
	{"Folds", testFolds},
	{"Puts", testPuts},
}

// everywhere are the tests whose result a transport decides: it keeps puts back while a receiver is
// late (BackToBack, Held), cuts long messages and fills buffers of the caller (Large), carries both
// lanes at once (Mixed), gives a buffer back before all of it has gone (Lent), and tells a goodbye
// from a loss (Crash, Leave). Every transport passes them every day. Package mem passes them in
// virtual time, with each kind of network.
var everywhere = []commTest{
	{"BackToBack", testBackToBack},
	{"Held", testHeld},
	whole("Large", testLarge),
	whole("Mixed", testMixed),
	{"Lent", testLent},
	{"Crash", testCrash},
	whole("Leave", testLeave),
}

// once are the tests of rules of the protocol: which rank asks, answers, votes, waits, fails, and
// what it says. Package core decides all of it, and a transport only carries the frames, in ways
// that everywhere and [Frames] test. So package mem passes them in virtual time, where waits take no
// time. A real transport passes them in the stage [heavy.Transports].
var once = []commTest{
	{"Requests", testRequests},
	{"Flush", testFlush},
	whole("LeftAmongMulticasts", testLeftAmongMulticasts),
	{"Ask", testAsk},
	whole("AskDeath", testAskDeath),
	whole("Cancel", testCancel),
	{"Agree", testAgree},
	{"Shrink", testShrink},
	whole("Close", testClose),
	{"Bytes", testBytes},
	{"Delay", testDelay},
	whole("RequestDone", testRequestDone),
	whole("RequestWait", testRequestWait),
	whole("RequestContext", testRequestContext),
	whole("RequestClose", testRequestClose),
	whole("RequestCrash", testRequestCrash),
	{"Window", putOrMulticast(testWindow)},
	{"SlowReader", putOrMulticast(testSlowReader)},
	{"FlushDeath", putOrMulticast(testFlushDeath)},
	whole("RelayLeft", testRelayLeft),
	whole("AskInput", testAskInput),
	{"AskRefused", testAskRefused},
	whole("SlowAnswer", testSlowAnswer),
	{"AskLeave", testAskLeave},
	whole("AskClose", testAskClose),
	{"Mismatch", testMismatch},
	{"BlockLengths", testBlockLengths},
	whole("BlockCounts", testBlockCounts),
	{"BlockCountsDiffer", testBlockCountsDiffer},
	{"Belated", testBelated},
	{"Farewell", testFarewell},
	{"Truth", testTruth},
	{"Parted", testParted},
	whole("Refused", testRefused),
	{"LeftEarly", putOrMulticast(testLeftEarly)},
	{"Bereft", putOrMulticast(testBereft)},
}

// patience bounds every wait of the suite, even on slow machines.
const patience = 60 * time.Second

// join makes a communicator of size ranks. At its end, the test checks that the communicator leaves
// nothing behind.
func join(t testing.TB, with network, size int, cfg runtime.Config) []*runtime.Comm {
	return joinEach(t, with, size, func(int) runtime.Config { return cfg })
}

// joinEach is like join, with a configuration for each rank.
func joinEach(t testing.TB, with network, size int, cfg func(rank int) runtime.Config) []*runtime.Comm {
	if !with.virtual { // a bubble finds goroutines that it leaves behind
		leaks := goleak.IgnoreCurrent()
		t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	}
	comms := []*runtime.Comm{}
	for rank, tr := range with.make(t, size) {
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

// first returns the first n of list, or all if n is 0.
func first[T any](n int, list ...T) []T {
	if n == 0 {
		return list
	}
	return list[:min(n, len(list))]
}
