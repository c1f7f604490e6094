package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// putters are the broadcasts that use only puts.
func putters(yield func(name string) bool) {
	for _, a := range schedule.Algorithms() {
		spec, err := schedule.New(a.Name, schedule.Params{Ranks: 2})
		if err == nil && a.Collective == schedule.Bcast && !spec.Header().Recovers && !yield(a.Name) {
			return
		}
	}
}

// Broadcasts whose chunks are in windows, in succession, and with barriers between them.
func TestShelves(t *testing.T) {
	for name := range putters {
		t.Run(name, func(t *testing.T) {
			for ranks := 2; ranks <= 3; ranks++ {
				sound(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks}, Calls: calls(t, ranks, 2, name, name, name), Early: 1})
				sound(t, Options{Ranks: ranks, Windows: Windows{Ranks: ranks}, Calls: calls(t, ranks, 2, name, "barrier/hsb", name), Crash: true, Quit: true})
			}
			sound(t, Options{Ranks: 4, Windows: Windows{Ranks: 4}, Calls: calls(t, 4, 2, name, name), States: far()})
		})
	}
}

// Several of them open at once, and some ranks without shared memory.
func TestShelvesOfSeveralOpen(t *testing.T) {
	for name := range putters {
		t.Run(name, func(t *testing.T) {
			for windows := 2; windows <= 3; windows++ {
				sound(t, Options{Ranks: 3, Windows: Windows{Ranks: windows}, Open: 3, Calls: calls(t, 3, 1, name, "barrier/hsb", name, name), States: far()})
				sound(t, Options{Ranks: 3, Windows: Windows{Ranks: windows}, Open: 2, Calls: calls(t, 3, 2, name, name), Crash: true, States: far()})
			}
		})
	}
}

// Blocks that every rank puts from its own window, of collectives in succession.
func TestShelvesOfBlocks(t *testing.T) {
	for _, name := range []string{"scatter/linear", "gather/linear", "allgather/bruck", "alltoall/linear"} {
		t.Run(name, func(t *testing.T) {
			sound(t, Options{Ranks: 2, Windows: Windows{Ranks: 2}, Calls: calls(t, 2, 1, name, name, "barrier/hsb", name), Crash: true})
			sound(t, Options{Ranks: 3, Windows: Windows{Ranks: 3}, Calls: calls(t, 3, 1, name, name), States: far()})
			sound(t, Options{Ranks: 3, Windows: Windows{Ranks: 2}, Open: 2, Calls: calls(t, 3, 1, name, name), States: far()})
		})
	}
}

// A chunk belongs to the line that holds it. If that line were another one, the search would find
// it.
func TestShelvesHaveTeeth(t *testing.T) {
	for name := range putters {
		_, r := explored(t, Options{Ranks: 3, Windows: Windows{Ranks: 3}, Calls: calls(t, 3, 2, name, name)}, func(m *message) int {
			if m.header.Kind == 0 && m.header.Slot >= wire.ChunkLine {
				m.header.Slot ^= 1
			}
			return 1
		})
		require.NotNil(t, r.Violation, name)
	}
}
