package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// barriers are the algorithms of barriers by signals alone.
func barriers(yield func(name string) bool) {
	for _, a := range schedule.Algorithms() {
		spec, err := schedule.New(a.Name, schedule.Params{Ranks: 2})
		if err == nil && a.Collective == schedule.Barrier && spec.Header().Chunks == 0 && !yield(a.Name) {
			return
		}
	}
}

// Barriers by flags, as many as it takes for places to be used again, and with other
// operations between them.
func TestFlags(t *testing.T) {
	for name := range barriers {
		t.Run(name, func(t *testing.T) {
			for ranks := 2; ranks <= 3; ranks++ {
				sound(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks}, Calls: calls(t, ranks, 1, name, name, name, name), Early: 1})
				sound(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks}, Calls: calls(t, ranks, 1, name, "bcast/chain", name, name), Crash: true, Quit: true})
			}
			soundAsFar(t, Options{Ranks: 4, Windows: Windows{Ranks: 4}, Calls: calls(t, 4, 1, name, name, name), States: far()})
		})
	}
}

// Flags that take time to their lines, and come there at any moment.
func TestRemoteFlags(t *testing.T) {
	for name := range barriers {
		t.Run(name, func(t *testing.T) {
			for ranks := 2; ranks <= 3; ranks++ {
				soundAsFar(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks, Remote: true}, Calls: calls(t, ranks, 1, name, name, name, name), Early: 1, States: far()})
				soundAsFar(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks, Remote: true}, Calls: calls(t, ranks, 1, name, "bcast/chain", name, name), Crash: true, Quit: true, States: far()})
				soundAsFar(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks, Remote: true}, Open: 3, Calls: calls(t, ranks, 1, name, name, name), States: far()})
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
				soundAsFar(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks}, Open: 3, Calls: calls(t, ranks, 1, name, name, "bcast/binomial", name, name), States: far()})
				soundAsFar(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks}, Open: 2, Calls: calls(t, ranks, 1, name, name, name), Crash: true, States: far()})
			}
		})
	}
}

// Some ranks share memory, and others do not: what is put must not come behind what waits for
// flags.
func TestFlagsAmongSome(t *testing.T) {
	for name := range barriers {
		t.Run(name, func(t *testing.T) {
			for windows := 1; windows < 3; windows++ {
				sound(t, Options{Ranks: 3, Windows: Windows{Ranks: windows}, Calls: calls(t, 3, 1, name, name, name)})
				soundAsFar(t, Options{Ranks: 3, Windows: Windows{Ranks: windows}, Open: 3, Calls: calls(t, 3, 1, name, name, "bcast/linear", name), States: far()})
			}
			soundAsFar(t, Options{Ranks: 4, Windows: Windows{Ranks: 3}, Calls: calls(t, 4, 1, name, name, name), States: far()})
			soundAsFar(t, Options{Ranks: 2, Windows: Windows{Ranks: 1}, Open: 4, Calls: calls(t, 2, 1, name, name, "bcast/linear", name, "bcast/linear", name, name, "bcast/linear"), States: far()})
		})
	}
}

// Ranks that call other things find out by what stands in their windows.
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

// Roots that differ, of a broadcast that its roots return from at once, are found by the time of the next barrier, whatever
// the order; no rank returns from that.
func TestRootsThatDiffer(t *testing.T) {
	rooted := func(ranks, root int, after ...string) []Call {
		spec, err := schedule.New("bcast/linear", schedule.Params{Ranks: ranks, Root: root, Chunks: 1})
		require.NoError(t, err)
		return append([]Call{{Schedule: spec.Schedule()}}, calls(t, ranks, 1, after...)...)
	}
	for name := range barriers {
		t.Run(name, func(t *testing.T) {
			for _, windows := range []Windows{{}, {Ranks: 2}, {Ranks: 3}, {Ranks: 3, Remote: true}} {
				soundAsFar(t, Options{Ranks: 3, Windows: windows, Calls: rooted(3, 0, name), OddRank: 1, Odd: rooted(3, 1, name), States: far()})
			}
			soundAsFar(t, Options{Ranks: 2, Windows: Windows{Ranks: 2}, Calls: rooted(2, 0, "bcast/chain", name), OddRank: 1, Odd: rooted(2, 1, "bcast/chain", name), States: far()})
		})
	}
}

// Were all places used by every barrier, or only some written, it would be found.
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
