package explore

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// reach walks depth first over everything that can happen. It shares with Run only the stepping
// itself. It returns the combined states of the ranks that it reaches.
func reach(t *testing.T, o Options) map[string]bool {
	sys, err := newSystem(o)
	require.NoError(t, err)
	seen, ranks := make(map[string]bool), make(map[string]bool)
	var walk func(w *world)
	walk = func(w *world) {
		key := string(w.append(nil))
		if seen[key] {
			return
		}
		seen[key] = true
		var all []byte
		for _, id := range w.ranks {
			all = sys.locals[id].key(sys.form, all)
		}
		ranks[string(all)] = true
		will, may := sys.options(w, nil, nil)
		for _, e := range slices.Concat(will, may) {
			next := new(world)
			next.copyFrom(w)
			problem, _ := sys.apply(next, e)
			require.Empty(t, problem)
			if e.kind() == evRing && len(will) > 0 {
				next.early++
			}
			walk(next)
		}
	}
	walk(sys.initial())
	return ranks
}

// The reduced search reaches every combined state of the ranks that the full search reaches, and so
// every violation of ranks. Without SCHEDGEN_HEAVY, only the first algorithm of its kind has three
// ranks.
func TestReductionLeavesNothingOut(t *testing.T) {
	for _, a := range schedule.Algorithms() {
		t.Run(a.Name, func(t *testing.T) {
			for _, o := range []Options{
				{Ranks: 2, Calls: calls(t, 2, 2, a.Name), Losses: 1, Duplicates: 1, Early: 1},
				{Ranks: 3, Calls: calls(t, 3, 1, a.Name), Losses: 1},
				{Ranks: 2, Calls: calls(t, 2, 1, a.Name, a.Name), Losses: 1, Crash: true},
			} {
				if o.Ranks == 3 && !firstOfKind(a.Name) && !heavy.Tests() {
					continue
				}
				reduced := reach(t, o)
				o.Full = true
				whole := reach(t, o)
				require.Equal(t, len(whole), len(reduced))
				for tag := range whole {
					require.True(t, reduced[tag])
				}
			}
		})
	}
}

// The search reaches as many states as the plain walk.
func TestSearchMeetsAllStates(t *testing.T) {
	o := Options{Ranks: 2, Calls: calls(t, 2, 2, "bcast/mcast-acktree"), Losses: Unbounded, Early: 1}
	x, r := explored(t, o, nil)
	require.True(t, r.Complete)
	ranks := make(map[string]bool)
	x.base = x.initial()
	for id := range x.parents {
		w := x.replay(uint32(id))
		var all []byte
		for _, id := range w.ranks {
			all = x.locals[id].key(x.form, all)
		}
		ranks[string(all)] = true
	}
	require.Equal(t, reach(t, o), ranks)
}

// replay returns state number at, by the way on which the search has reached it.
func (x *search) replay(at uint32) *world {
	var back []event
	for ; at > 0; at = x.parents[at] {
		back = append(back, x.events[at])
	}
	w := x.initial()
	for _, e := range slices.Backward(back) {
		x.apply(w, e)
	}
	return w
}

// Two runs meet the same states and find the same violation.
func TestSearchRepeats(t *testing.T) {
	o := Options{Ranks: 4, Calls: []Call{broken(t, "early-ack")}, Losses: 1}
	_, a := explored(t, o, nil)
	_, b := explored(t, o, nil)
	require.Equal(t, a, b)
}

// A limit on states is kept and reported.
func TestBound(t *testing.T) {
	o := Options{Ranks: 3, Calls: calls(t, 3, 2, "bcast/mcast-chain"), Losses: Unbounded, States: 1000}
	_, r := explored(t, o, nil)
	require.False(t, r.Complete)
	require.Nil(t, r.Violation)
	require.GreaterOrEqual(t, r.States, 1000)
	require.Less(t, r.States, 1100)
}

// A violation that a fair continuation finds beyond the limit is reported.
func TestBoundedSearchTellsWhatLiesAhead(t *testing.T) {
	_, r := explored(t, Options{Ranks: 4, Calls: []Call{broken(t, "early-ack")}, States: 4}, nil)
	require.False(t, r.Complete)
	require.NotNil(t, r.Violation)
	require.Contains(t, r.Violation.Problem, "before rank 3 has the message")
}

func TestSearchIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	o := Options{Ranks: 3, Calls: calls(t, 3, 2, "bcast/mcast-chain"), Losses: Unbounded}
	o.Progress = func(r Report) { cancel(enough) }
	_, err := Run(ctx, o)
	require.ErrorIs(t, err, enough)
}

func TestOptionsAreChecked(t *testing.T) {
	good := func() Options { return Options{Ranks: 2, Calls: calls(t, 2, 1, "bcast/chain")} }
	for want, spoil := range map[string]func(*Options){
		"0 ranks":                 func(o *Options) { o.Ranks = 0 },
		"7 ranks":                 func(o *Options) { o.Ranks = 7 },
		"0 calls":                 func(o *Options) { o.Calls = nil },
		"-2 losses":               func(o *Options) { o.Losses = -2 },
		"-1 early alarms":         func(o *Options) { o.Early = -1 },
		"is for 2 ranks, not 3":   func(o *Options) { o.Ranks = 3 },
		"neither a schedule":      func(o *Options) { o.Calls = []Call{{}} },
		"origin 2 outside 0 … 1":  func(o *Options) { o.Calls = []Call{{Overlay: nowhere{}, Origin: 2}} },
		"33 chunks, must be":      func(o *Options) { o.Calls = calls(t, 2, 33, "bcast/chain") },
		"done does not wait for":  func(o *Options) { o.Ranks, o.Calls = 3, []Call{broken(t, "one-ack-forgotten")} },
		"-1 states, must be 1":    func(o *Options) { o.States = -1 },
		"9 pieces, must be 1 … 8": func(o *Options) { o.Pieces = 9 },
		"-1 window, must be 0":    func(o *Options) { o.Window = -1 },
		"17 messages under way":   func(o *Options) { o.PublishWindow = 17 },
	} {
		o := good()
		spoil(&o)
		_, err := Run(context.Background(), o)
		require.ErrorIs(t, err, ErrInput)
		require.Contains(t, err.Error(), want)
	}
}

// The set distinguishes two states although their hashes begin alike.
func TestSet(t *testing.T) {
	s := newSet()
	for i := range uint64(3 * firstSlots) {
		require.True(t, s.add([2]uint64{1, i << 6}))
	}
	for i := range uint64(3 * firstSlots) {
		require.True(t, s.has([2]uint64{1, i << 6}))
		require.False(t, s.add([2]uint64{1, i << 6}))
		require.False(t, s.has([2]uint64{3, i << 6}))
	}
	require.NotEqual(t, s.hash([]byte("a")), s.hash([]byte("b")))
}

func BenchmarkSearch(b *testing.B) {
	o := Options{Ranks: 3, Calls: []Call{callOf(b, "bcast/mcast-acktree", 3, 2)}, Losses: Unbounded}
	states := 0
	for b.Loop() {
		_, r := explored(b, o, nil)
		if r.Violation != nil || !r.Complete {
			b.Fatal("the search has failed")
		}
		states += r.States
	}
	b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
}

// stale makes a rank take a signal of an operation that is over for one of its present operation.
func stale(l *local, h *wire.Header) {
	begun, ended := l.core.Seq()
	seq := ended + 1
	if mine, known := l.core.Called(seq); known && seq <= begun && h.Kind == wire.FrameSlot && h.Slot.Kind() == ir.KindSignal && h.Seq < seq {
		h.Seq, h.Print = seq, mine
	}
}

// A signal that changes nothing when it arrives may set a slot of the next operation if it arrives
// later. That slots are only ever set, once each, is tested and not assumed.
func TestReductionTakesNothingForGranted(t *testing.T) {
	for what, c := range map[string]struct {
		o      Options
		tamper func(*message) int
		hidden bool // the first search misses it
	}{
		"a late datagram": {
			o: Options{Ranks: 2, Calls: calls(t, 2, 1, "bcast/mcast-acktree", "bcast/mcast-acktree"), Losses: Unbounded, Early: 1},
		},
		"a signal put twice": {
			o: Options{Ranks: 2, Calls: calls(t, 2, 1, "barrier/hsb", "barrier/hsb")},
			tamper: func(m *message) int {
				if m.header.Kind == wire.FrameSlot {
					return 2
				}
				return 1
			},
			hidden: true,
		},
	} {
		t.Run(what, func(t *testing.T) {
			system := func(full bool) *system {
				o := c.o
				o.Full = full
				sys, err := newSystem(o)
				require.NoError(t, err)
				sys.tamper, sys.mistake = c.tamper, stale
				return sys
			}
			_, whole, err := system(true).explore(context.Background())
			require.NoError(t, err)
			require.NotNil(t, whole.Violation)
			_, reduced, err := system(false).explore(context.Background())
			require.NoError(t, err)
			require.Equal(t, whole.Violation, reduced.Violation)
			if c.hidden {
				require.Equal(t, 2, reduced.Searches)
				first, err := newSearch(system(false)).explore(context.Background())
				require.NoError(t, err)
				require.True(t, first.Complete)
				require.Nil(t, first.Violation)
			}
		})
	}
}

// Repairs that pile up in a lane do not make a state different for the fair continuation.
func TestMessagesThatPileUp(t *testing.T) {
	w := &world{ranks: []uint32{1, 2}, lanes: [][]uint32{{7, 8}, nil}, grams: []uint32{3, 3}}
	piled := &world{ranks: w.ranks, lanes: [][]uint32{{7, 8, 7, 7, 8}, nil}, grams: w.grams}
	require.Equal(t, w.append(nil), w.appendOnce(nil))
	require.Equal(t, w.append(nil), piled.appendOnce(nil))
	require.NotEqual(t, w.append(nil), piled.append(nil))
}
