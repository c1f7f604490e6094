package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// barriers are the algorithms of barriers that use only signals.
func barriers(yield func(name string) bool) {
	for _, a := range schedule.Algorithms() {
		spec, err := schedule.New(a.Name, schedule.Params{Ranks: 2})
		if err == nil && a.Collective == schedule.Barrier && spec.Header().Chunks == 0 && !yield(a.Name) {
			return
		}
	}
}

// Barriers by flags, so many that places are used again, also with other operations between them.
func TestFlags(t *testing.T) {
	for name := range barriers {
		t.Run(name, func(t *testing.T) {
			for ranks := 2; ranks <= 3; ranks++ {
				sound(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks}, Calls: calls(t, ranks, 1, name, name, name, name), Early: 1})
				sound(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks}, Calls: calls(t, ranks, 1, name, "bcast/chain", name, name), Crash: true, Quit: true})
			}
			sound(t, Options{Ranks: 4, Windows: Windows{Ranks: 4}, Calls: calls(t, 4, 1, name, name, name), States: far()})
		})
	}
}

// Flags that take time to reach their lines, and arrive at any moment.
func TestRemoteFlags(t *testing.T) {
	for name := range barriers {
		t.Run(name, func(t *testing.T) {
			for ranks := 2; ranks <= 3; ranks++ {
				sound(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks, Remote: true}, Calls: calls(t, ranks, 1, name, name, name, name), Early: 1, States: far()})
				sound(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks, Remote: true}, Calls: calls(t, ranks, 1, name, "bcast/chain", name, name), Crash: true, Quit: true, States: far()})
				sound(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks, Remote: true}, Open: 3, Calls: calls(t, ranks, 1, name, name, name), States: far()})
			}
			sound(t, Options{Ranks: 3, Windows: Windows{Ranks: 3, Remote: true}, Calls: calls(t, 3, 1, name), OddRank: 1, Odd: calls(t, 3, 1, "bcast/binomial")})
		})
	}
}

// Several barriers open at once.
func TestFlagsOfSeveralOpen(t *testing.T) {
	for name := range barriers {
		t.Run(name, func(t *testing.T) {
			for ranks := 2; ranks <= 3; ranks++ {
				sound(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks}, Open: 3, Calls: calls(t, ranks, 1, name, name, "bcast/binomial", name, name), States: far()})
				sound(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks}, Open: 2, Calls: calls(t, ranks, 1, name, name, name), Crash: true, States: far()})
			}
		})
	}
}

// Only some ranks share memory. A put must not be stuck behind something that waits for flags.
func TestFlagsAmongSome(t *testing.T) {
	for name := range barriers {
		t.Run(name, func(t *testing.T) {
			for windows := 1; windows < 3; windows++ {
				sound(t, Options{Ranks: 3, Windows: Windows{Ranks: windows}, Calls: calls(t, 3, 1, name, name, name)})
				sound(t, Options{Ranks: 3, Windows: Windows{Ranks: windows}, Open: 3, Calls: calls(t, 3, 1, name, name, "bcast/linear", name), States: far()})
			}
			sound(t, Options{Ranks: 4, Windows: Windows{Ranks: 3}, Calls: calls(t, 4, 1, name, name, name), States: far()})
			sound(t, Options{Ranks: 2, Windows: Windows{Ranks: 1}, Open: 4, Calls: calls(t, 2, 1, name, name, "bcast/linear", name, "bcast/linear", name, name, "bcast/linear"), States: far()})
		})
	}
}

// Ranks that make different calls find out from the contents of their windows.
func TestFlagsOfRanksThatDisagree(t *testing.T) {
	for _, c := range []struct{ calls, odd []string }{
		{[]string{"barrier/hsb"}, []string{"bcast/binomial"}},
		{[]string{"bcast/binomial"}, []string{"barrier/hsb"}},
		{[]string{"barrier/hsb"}, []string{"barrier/dissemination"}},
		{[]string{"bcast/chain", "barrier/exchange"}, []string{"barrier/exchange", "bcast/chain"}},
		{[]string{"barrier/hsb"}, []string{}},
	} {
		for rank := range 3 {
			sound(t, Options{
				Ranks: 3, Windows: Windows{Ranks: 3}, Calls: calls(t, 3, 1, c.calls...), OddRank: rank, Odd: append([]Call{}, calls(t, 3, 1, c.odd...)...),
			})
		}
	}
}

// Two roots return from a broadcast at once, so that they do not notice that they differ. The next
// barrier finds it, whatever the order, and no rank returns from that barrier.
func TestRootsThatDiffer(t *testing.T) {
	rooted := func(ranks, root int, after ...string) []Call {
		spec, err := schedule.New("bcast/linear", schedule.Params{Ranks: ranks, Root: root, Chunks: 1})
		require.NoError(t, err)
		return append([]Call{{Schedule: spec.Schedule()}}, calls(t, ranks, 1, after...)...)
	}
	for name := range barriers {
		t.Run(name, func(t *testing.T) {
			for _, windows := range []Windows{{}, {Ranks: 2}, {Ranks: 3}, {Ranks: 3, Remote: true}} {
				sound(t, Options{Ranks: 3, Windows: windows, Calls: rooted(3, 0, name), OddRank: 1, Odd: rooted(3, 1, name), States: far()})
			}
			sound(t, Options{Ranks: 2, Windows: Windows{Ranks: 2}, Calls: rooted(2, 0, "bcast/chain", name), OddRank: 1, Odd: rooted(2, 1, "bcast/chain", name), States: far()})
		})
	}
}

// The search would find it if every barrier used all places, or wrote only some of them.
func TestFlagsHaveTeeth(t *testing.T) {
	for what, tamper := range map[string]func(*message) int{
		"one turn": func(m *message) int {
			if m.header.Kind == 0 {
				m.header.Slot &^= wire.FlagLines / 2
			}
			return 1
		},
		"other places": func(m *message) int {
			if m.header.Kind == 0 && m.header.Seq == 2 {
				m.header.Slot += ir.Slot(1)
			}
			return 1
		},
	} {
		t.Run(what, func(t *testing.T) {
			for name := range barriers {
				for _, remote := range []bool{false, true} {
					_, r := explored(t, Options{Ranks: 3, Windows: Windows{Ranks: 3, Remote: remote}, Calls: calls(t, 3, 1, name, name, name)}, tamper)
					require.NotNil(t, r.Violation, name)
				}
			}
		})
	}
}
