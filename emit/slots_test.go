package emit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
)

func chunkSlots(numbers ...int) []ir.Slot {
	var out []ir.Slot
	for _, k := range numbers {
		out = append(out, ir.Chunk(k))
	}
	return out
}

func TestMessagesHaveLabels(t *testing.T) {
	message := func(numbers ...int) []ir.Action { return ir.PutAll(1, chunkSlots(numbers...)...) }
	for want, c := range map[string]cargo{
		"c0":         {message(0)},
		"c0,1":       {message(0), message(1)},
		"c0-2":       {message(0), message(1), message(2)},
		"c0 c1":      {message(0, 1)},
		"c3 c4 c0":   {message(3, 4, 0)},
		"c4…c7":      {message(4, 5, 6, 7)},
		"c3…c0 (4)":  {message(3, 4, 5, 0)},
		"c0 c1, c5":  {message(0, 1), message(5)},
		"3 messages": {message(0, 1), message(5), message(6)},
		"4 chunks":   {message(0), message(2), message(4), message(6)},
	} {
		require.Equal(t, want, c.label())
	}
	require.False(t, cargo{message(0, 1)}.equal(cargo{message(0), message(1)}))
}

// TestMessagesAreToldOneByOne checks that a message of several slots has its own phrase, whatever
// is beside it.
func TestMessagesAreToldOneByOne(t *testing.T) {
	put := ir.PutTo
	for want, do := range map[string][]ir.Action{
		"puts chunks 0 and 1 to rank 2 in one message":                                             ir.PutAll(2, chunkSlots(0, 1)...),
		"puts chunks 0 and 1 to rank 2":                                                            {put(ir.Chunk(0), 2), put(ir.Chunk(1), 2)},
		"puts chunk 0 to rank 2 and chunks 1 and 2 to rank 2 in one message":                       append([]ir.Action{put(ir.Chunk(0), 2)}, ir.PutAll(2, chunkSlots(1, 2)...)...),
		"puts chunks 1 and 2 to rank 2 in one message and chunk 3 to rank 2":                       append(ir.PutAll(2, chunkSlots(1, 2)...), put(ir.Chunk(3), 2)),
		"puts chunks 0 and 1 to rank 2 in one message and chunks 2 and 3 to rank 2 in one message": append(ir.PutAll(2, chunkSlots(0, 1)...), ir.PutAll(2, chunkSlots(2, 3)...)...),
	} {
		require.Equal(t, want, (&explainer{}).actions(do))
	}
}

// TestLongListsAreCutShort checks that twelve runs of numbers are named and the others are counted.
func TestLongListsAreCutShort(t *testing.T) {
	var odd []ir.Slot
	for k := range 30 {
		odd = append(odd, ir.Chunk(2*k+1))
	}
	require.Equal(t, "chunks 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23 and 18 more", slotPhrase(odd))
}

// TestActionsAreToldInTheirOrder checks that phrases keep the order in which a rank sends, which
// decides when each receiver has its message.
func TestActionsAreToldInTheirOrder(t *testing.T) {
	toRanks := func(slot ir.Slot, ranks ...int) (do []ir.Action) {
		for _, r := range ranks {
			do = append(do, ir.PutTo(slot, r))
		}
		return do
	}
	for want, do := range map[string][]ir.Action{
		"puts chunk 0 to ranks 4, 2 and 1":                toRanks(ir.Chunk(0), 4, 2, 1),
		"puts chunk 0 to ranks 7 to 5 and 0 to 2":         toRanks(ir.Chunk(0), 7, 6, 5, 0, 1, 2),
		"sets signal 3 of ranks 2, 1 and 8":               toRanks(ir.Signal(3), 2, 1, 8),
		"puts chunks 1, 0 and 7 to 5 to rank 1":           {ir.PutTo(ir.Chunk(1), 1), ir.PutTo(ir.Chunk(0), 1), ir.PutTo(ir.Chunk(7), 1), ir.PutTo(ir.Chunk(6), 1), ir.PutTo(ir.Chunk(5), 1)},
		"puts chunks 3, 4 and 0 to rank 1 in one message": ir.PutAll(1, chunkSlots(3, 4, 0)...),
	} {
		require.Equal(t, want, (&explainer{}).actions(do))
	}
}

// TestLabelsNameWhatReceiversCallSlots checks labels of slots with another name at the receiver.
func TestLabelsNameWhatReceiversCallSlots(t *testing.T) {
	bundle := func(n int) []ir.Action {
		var slots, as []ir.Slot
		for k := range n {
			slots, as = append(slots, ir.Input(k)), append(as, ir.Value(k+2))
		}
		return ir.PutAllAs(1, slots, as)
	}
	as := func(k, v int) []ir.Action { return []ir.Action{ir.PutAs(ir.Input(k), 1, ir.Value(v))} }
	for want, c := range map[string]cargo{
		"c0":              {ir.PutAll(1, ir.Chunk(0))},
		"x0→v2":           {as(0, 2)},
		"x0→v2, c1":       {as(0, 2), ir.PutAll(1, ir.Chunk(1))},
		"x0→v2 x1→v3":     {bundle(2)},
		"x0…x3→v2…v5":     {bundle(4)},
		"x0→v2 x1→v3, c5": {bundle(2), ir.PutAll(1, ir.Chunk(5))},
		"x0-3→v4-7":       {as(0, 4), as(1, 5), as(2, 6), as(3, 7)},
		"3 messages":      {bundle(2), ir.PutAll(1, ir.Chunk(5)), ir.PutAll(1, ir.Chunk(6))},
	} {
		require.Equal(t, want, c.renamedLabel())
	}
}
