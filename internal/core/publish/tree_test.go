package publish

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/schedule"
)

// anycasts returns the names of the algorithms of rootless messages.
func anycasts() (names []string) {
	for _, a := range schedule.Algorithms() {
		if a.Collective == schedule.Anycast {
			names = append(names, a.Name)
		}
	}
	return names
}

// Messages arrive once and in the order of their origin along every overlay, and windows bound what
// waits for a process. A flush ends when all have arrived.
func TestTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 9).Draw(t, "size")
		window := rapid.IntRange(1, 6).Draw(t, "window")
		const most, bound, each = 40, 100, 6
		e := newClub(t, rapid.SampledFrom(anycasts()).Draw(t, "overlay"), size, Config{Window: window, Bytes: bound, MaxMessage: most})
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) // a draw of each step would take most of the time
		text := func(origin int, seq uint64) []byte {
			return bytes.Repeat([]byte{byte(origin), byte(seq)}, int(uint64(7*origin)+5*seq)%(most/2+1))
		}
		taken, sent := make([][]uint64, size), make([]uint64, size)
		for r := range taken {
			taken[r] = make([]uint64, size)
		}
		for steps := 0; ; steps++ {
			require.Less(t, steps, 100_000, "it does not end")
			r := random.IntN(size)
			m := e.ends[r]
			if sent[r] < each && m.HasRoom(0) {
				m.Publish(text(r, sent[r]))
				sent[r]++
			}
			if busy := e.Busy(); len(busy) > 0 {
				e.carryAny(busy[random.IntN(len(busy))])
			}
			for m.Waiting() > 0 && random.IntN(2) == 0 {
				got := m.Take()
				require.Equal(t, taken[r][got.Origin], got.Seq, "rank %d, origin %d", r, got.Origin)
				require.Equal(t, text(got.Origin, got.Seq), append([]byte{}, got.Data...))
				taken[r][got.Origin]++
			}
			require.NoError(t, m.err)
			all := 0
			for origin := range size {
				if origin != r {
					waits := m.Came(origin) - taken[r][origin]
					require.LessOrEqual(t, waits, uint64(window), "rank %d keeps %d messages of rank %d", r, waits, origin)
					all += int(waits)
				}
			}
			require.Equal(t, m.Waiting(), all, "what has come and is not taken waits")
			if random.IntN(50) == 0 {
				n := m.Flush()
				require.Equal(t, sent[r], n)
			}
			if !slices.ContainsFunc(sent, func(n uint64) bool { return n < each }) && len(e.Busy()) == 0 &&
				!slices.ContainsFunc(e.ends, func(m *member) bool { return m.Waiting() > 0 }) {
				break
			}
		}
		for r, m := range e.ends {
			n := m.Flush()
			e.carryAll()
			require.True(t, m.Flushed(n), "rank %d", r)
			require.Equal(t, Counts{Published: each, Delivered: uint64(each * (size - 1))}, m.Counts())
		}
	})
}
