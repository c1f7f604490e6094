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
