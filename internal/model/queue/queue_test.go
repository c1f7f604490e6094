package queue_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/model/queue"
	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// TestOrder compares the queue with a list that is sorted, stably, before each item is taken.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue.Queue[int]
		var list []queue.Item[int]
		now, pushed := int64(0), 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				at := max(0, now+rapid.OneOf(rapid.Int64Range(-3, 8), rapid.Int64Range(0, 1<<40)).Draw(t, "after"))
				x := queue.Item[int]{At: at, Tie: rapid.Uint64Range(0, 3).Draw(t, "tie"), Value: pushed}
				pushed++
				q.Push(x)
				list = append(list, x)
			},
			"pop": func(t *rapid.T) {
				if len(list) == 0 {
					t.Skip("empty")
				}
				slices.SortStableFunc(list, func(a, b queue.Item[int]) int {
					if a.At != b.At {
						return int(max(-1, min(1, a.At-b.At)))
					}
					return int(a.Tie) - int(b.Tie)
				})
				require.Equal(t, list[0], q.Pop())
				now, list = list[0].At, list[1:]
			},
			"": func(t *rapid.T) { require.Equal(t, len(list), q.Len()) },
		})
		if rapid.Bool().Draw(t, "clear") {
			q.Clear()
			require.Zero(t, q.Len())
			q.Push(queue.Item[int]{At: 5, Value: 1})
			q.Push(queue.Item[int]{At: 3, Value: 2})
			require.Equal(t, 2, q.Pop().Value)
		}
	})
}

func TestWarmQueueAllocatesNothing(t *testing.T) {
	var q queue.Queue[[2]uint32]
	fill := func() {
		for i := range int64(1000) {
			q.Push(queue.Item[[2]uint32]{At: i * 7919 % 1000, Tie: uint64(i)})
		}
		for q.Len() > 0 {
			q.Pop()
		}
		q.Clear()
	}
	fill()
	require.Zero(t, testing.AllocsPerRun(10, fill))
}

// BenchmarkHold takes the first of 65,536 items and adds one, at one of two times or at one of
// thousands.
func BenchmarkHold(b *testing.B) {
	for name, spread := range map[string]uint64{"together": 2, "apart": 1 << 12} {
		b.Run(name, func(b *testing.B) {
			var q queue.Queue[[2]uint32]
			random, tie := uint64(1), uint64(0)
			push := func(now int64) {
				random = random*6364136223846793005 + 1442695040888963407
				tie++
				q.Push(queue.Item[[2]uint32]{At: now + 2500 + int64(random>>40%spread), Tie: tie})
			}
			for range 65536 {
				push(0)
			}
			b.ReportAllocs()
			for b.Loop() {
				push(q.Pop().At)
			}
		})
	}
}
