package flow

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/deep"
	"github.com/schedgen/schedgen/ir"
)

// An outbox behaves like one plain list for each reason. Clones are independent, and equal states
// have equal encodings.
func TestOutbox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var box Outbox
		var lists [reasons][]ir.Action
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			r := Reason(rapid.IntRange(0, int(reasons)-1).Draw(t, "reason"))
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				a := ir.PutTo(ir.Chunk(rapid.IntRange(0, 9).Draw(t, "chunk")), rapid.IntRange(0, 2).Draw(t, "to"))
				box.Add(r, a)
				lists[r] = append(lists[r], a)
			case 2:
				n := rapid.IntRange(0, len(lists[r])).Draw(t, "n")
				box.Pop(r, n)
				lists[r] = lists[r][n:]
			default:
				to := int32(rapid.IntRange(0, 2).Draw(t, "to"))
				var kept []ir.Action
				for _, a := range lists[r] {
					if a.To != to {
						kept = append(kept, a)
					}
				}
				require.Equal(t, len(lists[r])-len(kept), box.Release(r, func(a ir.Action) bool { return a.To == to }))
				lists[r] = kept
			}
			empty := true
			for r := range reasons {
				require.Equal(t, len(lists[r]) > 0, box.Has(r))
				require.True(t, len(lists[r]) == 0 || box.All(r)[0] == lists[r][0])
				require.Subset(t, lists[r], box.All(r))
				require.Len(t, box.All(r), len(lists[r]))
				empty = empty && len(lists[r]) == 0
			}
			require.Equal(t, empty, box.Empty())
		}
		c, state := deep.Copy(nil, &box), deep.Append(nil, nil, &box)
		require.Equal(t, state, deep.Append(nil, nil, c))
		c.Clear()
		require.True(t, c.Empty())
		require.Equal(t, state, deep.Append(nil, nil, &box))
		c.Add(ByEntry, ir.PutTo(ir.Chunk(10), 0))
		require.NotEqual(t, state, deep.Append(nil, nil, c))
	})
}

// The order of puts that wait for reports is no part of the state. That of other actions is.
func TestOrderInAnOutbox(t *testing.T) {
	for _, r := range Reasons() {
		var a, b Outbox
		a.Add(r, ir.PutTo(ir.Chunk(0), 1), ir.PutTo(ir.Chunk(1), 1))
		b.Add(r, ir.PutTo(ir.Chunk(1), 1), ir.PutTo(ir.Chunk(0), 1))
		a.Normalize()
		b.Normalize()
		require.Equal(t, r == ByReport, bytes.Equal(deep.Append(nil, nil, &a), deep.Append(nil, nil, &b)), r)
	}
}
