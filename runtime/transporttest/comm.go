package transporttest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Make returns the transports of size ranks that are connected to each other.
type Make func(t testing.TB, size int) []wire.Transport

// Comm tests communicators over transports that with returns: every collective
// operation and every way in which one can fail. If time is short it is CommSample.
func Comm(t *testing.T, with Make) {
	if testing.Short() {
		CommSample(t, with)
		return
	}
	comm(t, with, []int{1, 2, 3, 5, 8}, []int{1, 2, 3, 6, 9})
}

// CommSample is Comm with fewer numbers of ranks, for a transport that has been through Comm, with
// something else below it.
func CommSample(t *testing.T, with Make) { comm(t, with, []int{3, 5}, []int{2, 6}) }

// comm tests broadcasts and barriers of these numbers of ranks.
func comm(t *testing.T, with Make, bcasts, barriers []int) {
	t.Run("Bcast", func(t *testing.T) { testBcast(t, with, bcasts) })
	t.Run("Bytes", func(t *testing.T) { testBytes(t, with) })
	t.Run("BackToBack", func(t *testing.T) { testBackToBack(t, with) })
	t.Run("Held", func(t *testing.T) { testHeld(t, with) })
	t.Run("Puts", func(t *testing.T) { testPuts(t, with) })
	t.Run("Lent", func(t *testing.T) { testLent(t, with) })
	t.Run("Large", func(t *testing.T) { testLarge(t, with) })
	t.Run("Delay", func(t *testing.T) { testDelay(t, with) })
	t.Run("Barrier", func(t *testing.T) { testBarrier(t, with, barriers) })
	t.Run("Anycast", func(t *testing.T) { testAnycast(t, with) })
	t.Run("Mixed", func(t *testing.T) { testMixed(t, with) })
	t.Run("Requests", func(t *testing.T) { testRequests(t, with) })
	t.Run("RequestDone", func(t *testing.T) { testRequestDone(t, with) })
	t.Run("RequestWait", func(t *testing.T) { testRequestWait(t, with) })
	t.Run("RequestContext", func(t *testing.T) { testRequestContext(t, with) })
	t.Run("RequestClose", func(t *testing.T) { testRequestClose(t, with) })
	t.Run("RequestCrash", func(t *testing.T) { testRequestCrash(t, with) })
	t.Run("Window", func(t *testing.T) { testWindow(t, with) })
	t.Run("Flush", func(t *testing.T) { testFlush(t, with) })
	t.Run("SlowReader", func(t *testing.T) { testSlowReader(t, with) })
	t.Run("FlushDeath", func(t *testing.T) { testFlushDeath(t, with) })
	t.Run("RelayLeft", func(t *testing.T) { testRelayLeft(t, with) })
	t.Run("Mismatch", func(t *testing.T) { testMismatch(t, with) })
	t.Run("Cancel", func(t *testing.T) { testCancel(t, with) })
	t.Run("Belated", func(t *testing.T) { testBelated(t, with) })
	t.Run("Truth", func(t *testing.T) { testTruth(t, with) })
	t.Run("Crash", func(t *testing.T) { testCrash(t, with) })
	t.Run("Agree", func(t *testing.T) { testAgree(t, with) })
	t.Run("Shrink", func(t *testing.T) { testShrink(t, with) })
	t.Run("Leave", func(t *testing.T) { testLeave(t, with) })
	t.Run("Farewell", func(t *testing.T) { testFarewell(t, with) })
	t.Run("Refused", func(t *testing.T) { testRefused(t, with) })
	t.Run("Forsaken", func(t *testing.T) { testForsaken(t, with) })
	t.Run("Bereft", func(t *testing.T) { testBereft(t, with) })
	t.Run("Close", func(t *testing.T) { testClose(t, with) })
}

// patience bounds every wait of the suite, on machines however slow.
const patience = 60 * time.Second

// join makes a communicator of size ranks; the test checks that nothing of it
// is left in the end.
func join(t testing.TB, with Make, size int, cfg runtime.Config) []*runtime.Comm {
	return joinEach(t, with, size, func(int) runtime.Config { return cfg })
}

// joinEach is join with a configuration for each rank.
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

// all is each for work that must succeed everywhere.
func all(t testing.TB, comms []*runtime.Comm, f func(ctx context.Context, c *runtime.Comm) error) {
	t.Helper()
	for i, err := range each(t, comms, f) {
		assert.NoError(t, err, "rank %d", comms[i].Rank()) // of several, the first need not be the cause
	}
	if t.Failed() {
		t.FailNow()
	}
}
