package presence

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

// situation is the facts of a rank.
type situation struct {
	taken    uint64
	agreeing bool
	stuck    bool
	awaits   map[int]Wait
}

func (s *situation) Taken(int) uint64       { return s.taken }
func (s *situation) Agreeing() bool         { return s.agreeing }
func (s *situation) Stuck(moment.Time) bool { return s.stuck }
func (s *situation) Awaits(rank int) Wait   { return s.awaits[rank] }

// watcher is a rank that watches, and what it has found.
type watcher struct {
	Watch
	situation
	roster Roster
	now    moment.Time
	asked  []int // all questions
	loose  int   // questions that go by datagram too
	silent []int
	found  []Findings // that were not empty
}

const (
	silence = moment.Time(8e9)
	second  = moment.Time(1e9)
)

func newWatcher(rank, size int) *watcher {
	return &watcher{Watch: NewWatch(WatchConfig{Rank: rank, Size: size, Silence: silence, Datagrams: true}), now: 1}
}

// due returns when to tick w.
func (w *watcher) due() moment.Time {
	due := moment.Never
	w.Timers(func(at *moment.Time) { due = min(due, *at) })
	return due
}

// goOn ticks w whenever it is due, until end, and does each before. A silent rank becomes lost.
func (w *watcher) goOn(end moment.Time, each func()) {
	for w.now < end {
		each()
		w.now = min(max(w.now+1, w.due()), end)
		w.tick()
	}
}

func (w *watcher) tick() {
	f := w.Tick(w.now, &w.roster, &w.situation)
	for _, rank := range f.Silent {
		w.roster.Lose(rank, true)
	}
	w.silent = append(w.silent, f.Silent...)
	for _, q := range f.Questions {
		w.asked = append(w.asked, q.Rank)
		if q.Loosely {
			w.loose++
		}
	}
	if f.LeftEarly || len(f.Silent) > 0 {
		w.found = append(w.found, f)
	}
}

func TestNoRankIsWatchedWithoutRequest(t *testing.T) {
	w := newWatcher(1, 4)
	require.Equal(t, moment.Never, w.due())
	w.goOn(100*second, func() {})
	require.Empty(t, w.asked)
	require.False(t, w.Active())
	_, _, watched := w.Nearest()
	require.False(t, watched)

	off := NewWatch(WatchConfig{Rank: 1, Size: 4})
	off.Want()
	require.False(t, off.Active(), "without a silence no rank is watched")
	require.Zero(t, off.Patience())
}

// One request makes a rank watch for three intervals.
func TestWatchEnds(t *testing.T) {
	w := newWatcher(1, 4)
	w.Want()
	require.Zero(t, w.due(), "at once")
	w.goOn(100*second, func() { w.Hear(2) })
	require.Equal(t, []int{2, 2, 2}, w.asked)
	require.False(t, w.Active())
}

// All silent ranks are found soon after one another, and each has been asked eight times.
func TestAllSilentRanksAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 17).Draw(t, "size")
		rank := rapid.IntRange(0, size-1).Draw(t, "rank")
		silent := map[int]bool{}
		for i := range rapid.IntRange(1, size-1).Draw(t, "silent") {
			silent[(rank+1+i)%size] = true
		}
		w := newWatcher(rank, size)
		w.goOn(w.now+silence+6*second, func() { // up to five doublings
			w.Want()
			for other := range size {
				if !silent[other] {
					w.Hear(other)
				}
			}
		})
		require.Len(t, w.silent, len(silent))
		for other := range silent {
			require.True(t, w.roster.Lost(other))
			n := 0
			for _, to := range w.asked {
				if to == other {
					n++
				}
			}
			require.Equal(t, questions, n)
		}
	})
}

// All other ranks have left, and this rank learns of each a quarter of a second after it has asked
// it, as when connections are refused. It knows after about log₂ size steps that it is alone.
func TestLastRankFindsThatAllHaveLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 2000).Draw(t, "size")
		w := newWatcher(rapid.IntRange(0, size-1).Draw(t, "rank"), size)
		w.agreeing = true
		refused := map[int]moment.Time{} // when the ranks asked so far are known to have left
		known := 0
		end := w.now + moment.Time(bits.Len(uint(size)))*w.interval() + second
		for known < size-1 {
			require.Less(t, w.now, end, "%d of %d ranks are known to have left", known, size-1)
			w.Want()
			w.tick()
			for _, rank := range w.asked {
				if _, ok := refused[rank]; !ok {
					refused[rank] = w.now + second/4
				}
			}
			next := w.due()
			for rank, at := range refused {
				if !w.roster.Gone(rank) {
					next = min(next, at)
				}
			}
			w.now = max(w.now+1, next)
			for rank, at := range refused {
				if at <= w.now && !w.roster.Gone(rank) {
					w.roster.Leave(rank, Unknown, 0)
					known++
				}
			}
		}
		require.Empty(t, w.silent)
	})
}

// A frame of the rank, and puts that its system takes, are signs of life.
func TestSignsOfLife(t *testing.T) {
	for name, sign := range map[string]func(w *watcher){
		"a frame":     func(w *watcher) { w.Hear(2) },
		"taken bytes": func(w *watcher) { w.taken++ },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatcher(1, 4)
			w.goOn(100*second, func() { w.Want(); sign(w) })
			require.Empty(t, w.silent)
			require.Zero(t, w.loose, "each question was answered")
			require.Equal(t, []int{2}, w.Targets())
			w.goOn(200*second, func() { w.Want(); w.Hear(3) })
			require.Equal(t, []int{2}, w.silent, "others do not count")
			require.NotZero(t, w.loose)
		})
	}
}

// A rank that was stopped itself has not taken what arrived meanwhile.
func TestOwnPause(t *testing.T) {
	w := newWatcher(1, 4)
	for range 10 {
		w.Want()
		w.now += 60 * second
		w.tick()
		w.Hear(2)
	}
	require.Empty(t, w.silent)
}

// Ranks that have gone are passed over. If none is left, the watch ends.
func TestGoneRanksAreNotWatched(t *testing.T) {
	w := newWatcher(3, 4)
	w.roster.Leave(0, Unknown, 0)
	w.Want()
	w.tick()
	require.Equal(t, []int{1}, w.Targets())
	rank, last, watched := w.Nearest()
	require.True(t, watched)
	require.Equal(t, 1, rank)
	require.Equal(t, w.now, last)
	w.roster.Leave(1, Unknown, 0)
	w.roster.Lose(2, false)
	w.Want()
	w.now += 2 * second
	w.tick()
	require.False(t, w.Active(), "there is no rank to watch")
	require.Equal(t, moment.Never, w.due())
}

// Among many ranks, during an agreement, ranks that are not near are watched too.
func TestWatchDuringAgreement(t *testing.T) {
	w := newWatcher(0, 100)
	for rank := 1; rank < 100; rank++ {
		if rank != 25 {
			w.roster.Leave(rank, Unknown, 0)
		}
	}
	w.Want()
	w.tick()
	require.Empty(t, w.Targets(), "rank 25 is not near")
	w.agreeing = true
	w.Want()
	w.now += 2 * second
	w.tick()
	require.Equal(t, []int{25}, w.Targets())
}

// A rank whose operation is stuck asks ranks that it waits for, a few at a time. A rank that
// answers makes room for others.
func TestAwaitedRanksAreAskedInTurn(t *testing.T) {
	w := newWatcher(0, 100)
	w.stuck, w.awaits = true, map[int]Wait{}
	for rank := 1; rank < 100; rank++ {
		w.awaits[rank] = WaitsMust
	}
	before := 0
	w.goOn(60*second, func() {
		w.Want()
		require.LessOrEqual(t, len(w.asked)-before, maxAwaited+1)
		for _, rank := range w.asked[before:] {
			if rank != 77 {
				w.Hear(rank)
			}
		}
		before = len(w.asked)
	})
	require.Equal(t, []int{77}, w.silent)
	asked := slices.Compact(slices.Sorted(slices.Values(w.asked)))
	require.Len(t, asked, 99)
}

// A rank that has left and has not put what an operation waits for is found, unless it has named
// its last operation, or need not have put anything.
func TestDeserter(t *testing.T) {
	for _, c := range []struct {
		last uint64
		how  Wait
		want bool
	}{{Unknown, WaitsMust, true}, {7, WaitsMust, false}, {Unknown, WaitsLoosely, false}} {
		w := newWatcher(0, 100)
		w.stuck, w.awaits = true, map[int]Wait{77: c.how}
		w.roster.Leave(77, c.last, 0)
		w.goOn(5*second, func() { w.Want(); w.Hear(1) })
		require.Equal(t, c.want, len(w.found) > 0, "%+v", c)
		if c.want {
			require.Equal(t, 77, w.found[0].LeftRank)
		}
		require.NotContains(t, w.asked, 77)
	}
}

// Ranks that are not near and have asked get a goodbye, unless they asked for an agreement.
func TestAskers(t *testing.T) {
	w := newWatcher(70, 100)
	w.Asked(20, false)
	w.Asked(20, false)
	w.Asked(69, false)
	w.Asked(21, true)
	require.Equal(t, []int{20}, w.Askers())
	require.True(t, w.Active(), "a rank that is asked watches, too")
}
