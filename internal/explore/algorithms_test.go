package explore

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/schedule"
)

// sound explores o up to its limit and finds nothing wrong. If o has no limit, it explores all of o,
// or, without SCHEDGEN_HEAVY, the first of many states.
func sound(t *testing.T, o Options) {
	if !every.once(t, o) {
		return
	}
	if o.States == 0 {
		o.States = heavy.Or(20_000, 0)
	}
	_, r := explored(t, o, nil)
	if r.Violation != nil {
		t.Fatal(spell(r.Violation))
	}
	require.True(t, r.Complete || o.States > 0, "%d states", r.States)
	t.Logf("%d states, all of them: %v, %d transitions, %d of single ranks, depth %d, %d searches", r.States, r.Complete, r.Transitions, r.Local, r.Depth, r.Searches)
}

// calls returns a call of each algorithm, one after the other.
func calls(t *testing.T, ranks, chunks int, names ...string) (all []Call) {
	for _, name := range names {
		all = append(all, callOf(t, name, ranks, chunks))
	}
	return all
}

// Every algorithm, twice in succession, with any number of losses, a duplicate, and an early alarm.
func TestAlgorithms(t *testing.T) {
	for _, a := range schedule.Algorithms() {
		t.Run(a.Name, func(t *testing.T) {
			for ranks := 1; ranks <= 3; ranks++ {
				chunks := 1
				if a.CutsItself() { // one chunk is not passed on
					chunks = max(1, ranks-1)
				}
				o := Options{Ranks: ranks, Calls: calls(t, ranks, chunks, a.Name, a.Name), Losses: Unbounded}
				if ranks < 3 {
					o.Calls = calls(t, ranks, 2, a.Name, a.Name)
					o.Early, o.Duplicates = 1, 1
				}
				sound(t, o)
			}
		})
	}
}

// Every algorithm with a death at any point, with processes that close because of it, and with a
// cancelled call. Without SCHEDGEN_HEAVY, only the first algorithm of its kind has three ranks.
func TestAlgorithmsWithADeath(t *testing.T) {
	for _, a := range schedule.Algorithms() {
		t.Run(a.Name, func(t *testing.T) {
			for ranks := 2; ranks <= 3; ranks++ {
				if ranks == 3 && !firstOfKind(a.Name) && !heavy.Tests() {
					continue
				}
				o := Options{Ranks: ranks, Calls: calls(t, ranks, 1, a.Name), Losses: 1, Crash: true}
				if ranks == 3 {
					o.States = heavy.Or(8_000, 0)
				}
				if a.Name == "allgather/mcast" && ranks == 3 { // multicasts of three ranks: too many orders for all
					o.States = DefaultStates
					sound(t, o)
					continue
				}
				sound(t, o)
				o.Losses, o.Early, o.Quit = 0, 1, true
				sound(t, o)
				o.Crash, o.Cancel = false, true
				sound(t, o)
			}
		})
	}
}

// firstOfKind reports whether an algorithm stands for all that put, multicast, fold or synchronize
// in the same way.
func firstOfKind(name string) bool {
	return slices.Contains([]string{
		"bcast/binomial", "bcast/chain", "bcast/mcast-acktree", "gather/linear", "reduce/chain", "barrier/hsb",
	}, name)
}

// Options that affect only multicasts: a window, a delay, chunks of several datagrams, and no
// multicast at all.
func TestMulticasts(t *testing.T) {
	for _, name := range []string{"bcast/mcast-acktree", "bcast/mcast-chain"} {
		for what, o := range map[string]Options{
			"window":        {Ranks: 2, Calls: calls(t, 2, 3, name, name), Losses: Unbounded, Early: 1, Window: 1},
			"window of 3":   {Ranks: 3, Calls: calls(t, 3, 2, name), Losses: 1, Window: 1},
			"yields":        {Ranks: 3, Calls: calls(t, 3, 2, name), Losses: Unbounded, Window: 1},
			"yields, death": {Ranks: 3, Calls: calls(t, 3, 2, name), Window: 1, Crash: true},
			"pieces":        {Ranks: 2, Calls: calls(t, 2, 2, name), Losses: Unbounded, Early: 1, Pieces: 2},
			"nothing":       {Ranks: 3, Calls: calls(t, 3, 2, name), NoMulticast: true, Early: 1},
			"fixed":         {Ranks: 2, Calls: calls(t, 2, 2, name, name), Losses: Unbounded, Early: 1, Delay: core.DelayFixed},
			"adaptive":      {Ranks: 2, Calls: calls(t, 2, 2, name, name), Losses: Unbounded, Early: 1, Delay: core.DelayAdaptive},
			"random peer":   {Ranks: 3, Calls: calls(t, 3, 1, name, name), Losses: 1, Delay: core.DelayRandomPeer},
			"death":         {Ranks: 3, Calls: calls(t, 3, 1, name), Losses: 1, Delay: core.DelayRandomPeer, Crash: true},
		} {
			t.Run(name+"/"+what, func(t *testing.T) { sound(t, o) })
		}
		t.Run(name+"/yields, early", func(t *testing.T) {
			sound(t, Options{Ranks: 3, Calls: calls(t, 3, 2, name), Losses: 1, Window: 1, Early: 1})
		})
	}
}

// A root that chooses another second stage than the one under which the others enter is followed by
// all ranks, whatever is lost: a rank that gets no multicast learns the choice from the first put, and
// ranks that do not know it yet ask, die and leave like others.
func TestOtherSecondStage(t *testing.T) {
	chosen := func(ranks int, name, otherwise string) []Call {
		c, other := callOf(t, name, ranks, 1), callOf(t, otherwise, ranks, 1)
		c.Otherwise = other.Schedule
		return []Call{c, c}
	}
	const chain, tree = "bcast/mcast-chain", "bcast/mcast-binomial"
	for what, o := range map[string]Options{
		"tree":         {Ranks: 4, Calls: chosen(4, chain, tree)[:1], Losses: Unbounded},
		"chain":        {Ranks: 4, Calls: chosen(4, tree, chain)[:1], Losses: Unbounded},
		"two of two":   {Ranks: 2, Calls: chosen(2, chain, tree), Losses: Unbounded, Early: 1},
		"two of three": {Ranks: 3, Calls: chosen(3, chain, tree), Losses: 2},
		"early":        {Ranks: 3, Calls: chosen(3, chain, tree)[:1], Losses: Unbounded, Early: 2},
		"pieces":       {Ranks: 3, Calls: chosen(3, chain, tree)[:1], Losses: Unbounded, Duplicates: 1, Early: 1},
		"nothing":      {Ranks: 4, Calls: chosen(4, chain, tree)[:1], NoMulticast: true, Early: 1},
		"overlap":      {Ranks: 3, Calls: chosen(3, chain, tree), Losses: 1, Open: 2, States: heavy.Or(20_000, 2_000_000)},
		"adaptive":     {Ranks: 3, Calls: chosen(3, chain, tree)[:1], Losses: Unbounded, Delay: core.DelayAdaptive},
		"random peer":  {Ranks: 3, Calls: chosen(3, chain, tree)[:1], Losses: Unbounded, Delay: core.DelayRandomPeer},
		"death":        {Ranks: 3, Calls: chosen(3, chain, tree)[:1], Losses: 1, Crash: true},
		"leaving":      {Ranks: 3, Calls: chosen(3, chain, tree)[:1], Losses: 1, Crash: true, Quit: true, States: heavy.Or(20_000, 2_000_000)},
	} {
		t.Run(what, func(t *testing.T) { sound(t, o) })
	}
}

// Messages of several origins, with one of each under way.
func TestMessages(t *testing.T) {
	for _, name := range []string{"anycast/skip-ring", "anycast/circulant"} {
		t.Run(name, func(t *testing.T) {
			o := Options{Ranks: 3, Early: 1}
			for _, origin := range []int{0, 1, 0, 2} {
				c := callOf(t, name, 3, 0)
				c.Origin = origin
				o.Calls = append(o.Calls, c)
			}
			sound(t, o)
		})
	}
}

// Multicast messages arrive once and in order, whichever datagrams are lost, late or doubled. Two
// origins publish at the same time.
func TestMulticastMessages(t *testing.T) {
	const name = "anycast/mcast-acktree"
	list := func(ranks int, origins ...int) (all []Call) {
		for _, origin := range origins {
			c := callOf(t, name, ranks, 0)
			c.Origin = origin
			all = append(all, c)
		}
		return all
	}
	for what, o := range map[string]Options{
		"losses":     {Ranks: 3, Calls: list(3, 0, 1), Losses: Unbounded},
		"early":      {Ranks: 3, Calls: list(3, 0), Losses: Unbounded, Early: 2},
		"duplicates": {Ranks: 3, Calls: list(3, 0, 1), Losses: 1, Duplicates: 1},
		"pieces":     {Ranks: 2, Calls: list(2, 0, 0), Losses: Unbounded, Early: 1, Pieces: 2, PublishWindow: 2},
		"puts":       {Ranks: 3, Calls: list(3, 0, 1, 0), NoMulticast: true},
		"death":      {Ranks: 3, Calls: list(3, 1), Losses: 1, Crash: true},
		"flush":      {Ranks: 3, Calls: flushes(t, name, 3, 2), Losses: 1},
	} {
		t.Run(what, func(t *testing.T) { sound(t, o) })
	}
	for what, o := range map[string]Options{
		"two of each":   {Ranks: 3, Calls: list(3, 0, 0, 1, 1), Losses: 2, PublishWindow: 2},
		"windows":       {Ranks: 3, Calls: list(3, 0, 1, 0, 2), Losses: 1, PublishWindow: 1},
		"long window":   {Ranks: 3, Calls: list(3, 0, 0, 0), Losses: 2, PublishWindow: 8, Early: 1},
		"two flush":     {Ranks: 3, Calls: flushes(t, name, 3, 0, 1), Losses: 1, Early: 1},
		"flush twice":   {Ranks: 3, Calls: flushes(t, name, 3, 2, 2), Losses: 2, Duplicates: 1, PublishWindow: 2},
		"four":          {Ranks: 4, Calls: list(4, 0, 1), Losses: 1},
		"flush, death":  {Ranks: 3, Calls: flushes(t, name, 3, 1), Losses: 1, Crash: true},
		"a rank leaves": {Ranks: 4, Calls: flushes(t, name, 4, 0), Losses: 1},
	} {
		t.Run(what, func(t *testing.T) {
			o.States = heavy.Or(8_000, 0)
			sound(t, o)
		})
	}
}

// A flush returns when all ranks have the messages, and ends when a rank dies.
func TestFlushes(t *testing.T) {
	for _, name := range []string{"anycast/skip-ring", "anycast/circulant"} {
		for what, o := range map[string]Options{
			"two origins": {Ranks: 3, Calls: flushes(t, name, 3, 0, 1), Early: 1},
			"twice":       {Ranks: 3, Calls: flushes(t, name, 3, 2, 2), Early: 1},
			"death":       {Ranks: 3, Calls: flushes(t, name, 3, 1), Crash: true},
		} {
			t.Run(name+"/"+what, func(t *testing.T) { sound(t, o) })
		}
	}
	t.Run("a relay leaves", func(t *testing.T) { sound(t, Options{Ranks: 4, Calls: flushes(t, "anycast/circulant", 4, 0)}) })
}

// flushes returns calls in which each of some origins publishes and flushes. The others take the
// message in between.
func flushes(t *testing.T, name string, ranks int, origins ...int) (list []Call) {
	for _, origin := range origins {
		c := callOf(t, name, ranks, 0)
		c.Origin = origin
		list = append(list, c)
		c.Flush = true
		list = append(list, c)
	}
	return list
}

// questions returns calls in which ranks ask, all of them at the same time.
func questions(t *testing.T, name string, ranks int, origins ...int) (list []Call) {
	for _, origin := range origins {
		spec, err := schedule.New(name, schedule.Params{Ranks: ranks, Root: origin, Chunks: 1})
		require.NoError(t, err)
		list = append(list, Call{Origin: origin, Overlay: spec.Overlay(), Asks: spec.Schedule(), Multicast: name == "anyreduce/mcast-acktree"})
	}
	return list
}

// Every rank answers every question once, and all get the fold of the schedule: with two askers at
// the same time, two questions of one, messages beside them, and a death at any moment. Two askers
// among three ranks with a death have more than five million states, so only the first are explored.
func TestQuestions(t *testing.T) {
	for _, name := range []string{"anyreduce/skip-ring", "anyreduce/circulant"} {
		beside := questions(t, name, 2, 0, 1)
		beside = append(beside, Call{Origin: 1, Overlay: beside[0].Overlay})
		for what, o := range map[string]Options{
			"one":        {Ranks: 3, Calls: questions(t, name, 3, 1), Early: 1},
			"two askers": {Ranks: 2, Calls: questions(t, name, 2, 0, 1), Early: 1},
			"two of one": {Ranks: 2, Calls: questions(t, name, 2, 1, 1), Early: 1},
			"beside":     {Ranks: 2, Calls: beside, Early: 1},
			"one, death": {Ranks: 3, Calls: questions(t, name, 3, 2), Crash: true, Quit: true},
			"two, death": {Ranks: 2, Calls: questions(t, name, 2, 0, 1), Crash: true, Quit: true},
		} {
			t.Run(name+"/"+what, func(t *testing.T) { sound(t, o) })
		}
		for what, crash := range map[string]bool{"three ranks": false, "three ranks, death": true} {
			t.Run(name+"/"+what, func(t *testing.T) {
				o := Options{Ranks: 3, Calls: questions(t, name, 3, 0, 1), Crash: crash}
				if crash {
					o.States = heavy.Or(8_000, 2_000_000)
				}
				sound(t, o)
			})
		}
	}
}

// The same holds if questions and results are multicast, and multicasts are lost, doubled and late:
// an answer may come before its question.
func TestMulticastQuestions(t *testing.T) {
	const name = "anyreduce/mcast-acktree"
	for what, o := range map[string]Options{
		"two ranks":   {Ranks: 2, Calls: questions(t, name, 2, 0), Losses: 2, Duplicates: 1, Early: 1},
		"two of one":  {Ranks: 2, Calls: questions(t, name, 2, 1, 1), Losses: 1},
		"two askers":  {Ranks: 2, Calls: questions(t, name, 2, 0, 1), Losses: 1, States: heavy.Or(20_000, 2_000_000)},
		"three ranks": {Ranks: 3, Calls: questions(t, name, 3, 1), Losses: 1, States: heavy.Or(20_000, 2_000_000)},
		"four ranks":  {Ranks: 4, Calls: questions(t, name, 4, 1), Losses: 2, States: heavy.Or(10_000, 1_000_000)},
		"death":       {Ranks: 3, Calls: questions(t, name, 3, 0), Losses: 1, Crash: true, States: heavy.Or(10_000, 1_000_000)},
	} {
		t.Run(what, func(t *testing.T) { sound(t, o) })
	}
}

// Calls of different kinds in succession.
func TestMixtures(t *testing.T) {
	for _, names := range [][]string{
		{"bcast/mcast-acktree", "barrier/hsb"},
		{"barrier/dissemination", "bcast/mcast-chain"},
		{"bcast/chain", "barrier/dissemination"}, // signals of an operation after the next
		{"bcast/mcast-acktree", "bcast/mcast-chain"},
		{"bcast/mcast-acktree", "anycast/skip-ring"},
		{"anycast/skip-ring", "bcast/binomial", "barrier/hsb"},
		{"anycast/mcast-acktree", "bcast/mcast-chain"},
	} {
		t.Run(names[0]+" "+names[1], func(t *testing.T) {
			sound(t, Options{Ranks: 3, Calls: calls(t, 3, 1, names...), Losses: 1})
		})
	}
}
