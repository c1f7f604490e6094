package simnet

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestEventsAreInATotalOrder checks that events are popped by time, then by the drawn number, then
// in the order of push.
func TestEventsAreInATotalOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q events
		var want []event
		for i := range rapid.IntRange(0, 60).Draw(t, "events") {
			e := event{at: Time(rapid.IntRange(1, 5).Draw(t, "at")), tie: uint64(rapid.IntRange(0, 2).Draw(t, "tie")), arg: i}
			q.push(e)
			want = append(want, e)
		}
		slices.SortStableFunc(want, func(a, b event) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			return int(a.tie) - int(b.tie)
		})
		for _, w := range want {
			require.Equal(t, w.arg, q.pop().arg)
		}
		require.Zero(t, q.queue.Len())
	})
}
