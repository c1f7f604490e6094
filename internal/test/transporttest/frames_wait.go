package transporttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// testWake checks that a Wake ends a running Wait, or else the next one.
func testWake(t *testing.T, with Make) {
	n := connect(t, with, 2)
	tr := n.ranks[0]
	tr.Wake()
	tr.Poll(n.sinks[0])
	within(t, func() { tr.Wait(-1) })
	for range 50 {
		done := signal()
		go func() { defer close(done); tr.Wait(-1) }()
		tr.Wake()
		within(t, func() { <-done })
	}
}

// within fails the test if f takes too long.
func within(t testing.TB, f func()) {
	t.Helper()
	done := signal()
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("no end after %v", patience)
	}
}

// testWaitTime checks that Wait ends by itself. It may end early, but not always: that would be a
// spin.
func testWaitTime(t *testing.T, with Make) {
	n := connect(t, with, 2)
	n.greet()
	n.quiesce()
	rounds := 0
	for start := time.Now(); time.Since(start) < 100*time.Millisecond; rounds++ {
		within(t, func() { n.ranks[1].Wait(10 * time.Millisecond) })
		n.ranks[1].Poll(n.sinks[1])
	}
	require.Less(t, rounds, 30)
}

// testWaitArrival plays ping-pong between two goroutines that park.
func testWaitArrival(t *testing.T, with Make) {
	const rounds = 200
	n := connect(t, with, 2)
	play := func(rank int) {
		tr, s := n.ranks[rank], n.sinks[rank]
		for i := range rounds {
			unsent, want := 0, i/2+1
			if i%2 == rank {
				f := slot(uint64(i), []byte{byte(i)})
				unsent, want = 1, 0
				f.Unsent = &unsent
				tr.Put(1-rank, f)
			}
			for unsent > 0 || len(s.got) < want {
				if !tr.Poll(s) {
					tr.Wait(-1)
				}
			}
		}
	}
	done := signal()
	go func() { defer close(done); play(1) }()
	within(t, func() { play(0); <-done })
	require.Len(t, n.sinks[1].got, rounds/2)
}

// testHeldWait checks that a held frame does not make Wait return at once.
func testHeldWait(t *testing.T, with Make) {
	n := connect(t, with, 2)
	n.greet()
	n.sinks[1].holdFrom(0)
	for i := range 4 {
		n.put(0, 1, slot(uint64(i), pattern(i, 100_000)))
	}
	n.quiesce()
	rounds := 0
	for start := time.Now(); time.Since(start) < 100*time.Millisecond; rounds++ {
		n.ranks[1].Wait(10 * time.Millisecond)
		n.ranks[1].Poll(n.sinks[1])
	}
	require.Less(t, rounds, 30)
}
