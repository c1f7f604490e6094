package runtime

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func masked(numbers ...uint8) (m mask) {
	for _, n := range numbers {
		m.add(n)
	}
	return m
}

func TestOffersSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := offer{
			open:       rapid.Bool().Draw(t, "open"),
			generation: rapid.Uint32().Draw(t, "generation"),
			free:       masked(rapid.SliceOf(rapid.Uint8()).Draw(t, "free")...),
			sets:       rapid.Uint8().Draw(t, "sets"),
			joined:     rapid.Bool().Draw(t, "joined"),
		}
		b := o.encode()
		require.Len(t, b, offerBytes)
		require.Equal(t, o, decodeOffer(b))
	})
}

func TestSettle(t *testing.T) {
	everywhere := []offer{
		{open: true, generation: 4, free: masked(3, 64, 200), sets: 0b1110_0000, joined: true},
		{open: false, generation: 9, free: masked()},
		{open: true, generation: 7, free: masked(2, 64, 200), sets: 0b1101_1100, joined: true},
		{open: true, generation: math.MaxUint32, free: masked(3)},
	}
	for _, test := range []struct {
		ranks []int
		want  outcome
	}{
		{[]int{0}, outcome{agreed: true, number: 3, epoch: 5, set: 5, absent: -1}},
		{[]int{0, 2}, outcome{agreed: true, number: 64, epoch: 8, set: 6, absent: -1}},
		{[]int{0, 2, 3}, outcome{agreed: true, full: true, absent: 3}},
		{[]int{3}, outcome{agreed: true, number: 3, full: true, absent: 3}}, // no epoch is left
		{[]int{0, 1}, outcome{agreed: false, epoch: 10, full: true, absent: 1}},
	} {
		require.Equal(t, test.want, agree(everywhere, test.ranks), "%v", test.ranks)
	}
	_, err := agreeAll(everywhere, map[int][]int{5: {0}, 2: {0, 2, 3}})
	require.ErrorIs(t, err, ErrTooMany, "one that cannot be made ends all")
	found, err := agreeAll(everywhere, map[int][]int{5: {0}, 2: {0, 1}})
	require.NoError(t, err)
	require.Equal(t, map[int]outcome{5: {agreed: true, number: 3, epoch: 5, set: 5, absent: -1}}, found)
}

// One Split at a time uses a process's numbers; the Split of the lowest parent goes first.
func TestNumbersAreUsedInTurn(t *testing.T) {
	var ns numbers
	ns.request(5)
	require.True(t, ns.acquire(5))
	ns.request(0)
	require.False(t, ns.acquire(0), "5 uses them")
	ns.release(5)
	require.False(t, ns.acquire(5), "0 comes first")
	require.True(t, ns.acquire(0))
	ns.withdraw(5)
	require.False(t, ns.acquire(0), "it has them")
	ns.release(0)
	require.True(t, ns.acquire(0))
	ns.withdraw(0)
	ns.request(9)
	require.True(t, ns.acquire(9), "who withdraws gives them back")
}

// crossing models Splits of several parents over some processes, as far as numbers are concerned.
// In each round of a parent, each of its members makes one offer, in any order.
type crossing struct {
	members [][]int        // by parent
	ns      []numbers      // by process
	offers  []map[int]bool // by parent and process: whether it has offered in this round
	done    []bool         // by parent
}

// offer makes a member of parent offer its numbers, unless it has in this round. The last offer
// ends the round.
func (x *crossing) offer(parent, member int) {
	offers := x.offers[parent]
	if _, has := offers[member]; has || x.done[parent] {
		return
	}
	offers[member] = x.ns[member].acquire(uint8(parent))
	if len(offers) < len(x.members[parent]) {
		return
	}
	x.done[parent] = true
	for _, open := range offers {
		x.done[parent] = x.done[parent] && open
	}
	for _, m := range x.members[parent] {
		if x.ns[m].release(uint8(parent)); x.done[parent] {
			x.ns[m].withdraw(uint8(parent))
		}
	}
	x.offers[parent] = map[int]bool{}
}

// Overlapping Splits all find numbers, in whatever order their offers come. From any state the
// lowest remaining parent needs two rounds: one that others have spoilt, and its own.
func TestOverlappingSplitsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		processes := rapid.IntRange(1, 6).Draw(t, "processes")
		x := crossing{ns: make([]numbers, processes)}
		for parent := range rapid.IntRange(1, 5).Draw(t, "parents") {
			members := rapid.SliceOfNDistinct(rapid.IntRange(0, processes-1), 1, processes, rapid.ID).Draw(t, "members")
			x.members, x.offers, x.done = append(x.members, members), append(x.offers, map[int]bool{}), append(x.done, false)
			for _, m := range members {
				x.ns[m].request(uint8(parent))
			}
		}
		for range rapid.IntRange(0, 40).Draw(t, "offers") {
			parent := rapid.IntRange(0, len(x.members)-1).Draw(t, "parent")
			x.offer(parent, rapid.SampledFrom(x.members[parent]).Draw(t, "member"))
		}
		for range 3 * len(x.members) {
			for parent, members := range x.members {
				for _, m := range members {
					x.offer(parent, m)
				}
			}
		}
		require.NotContains(t, x.done, false)
	})
}
