package runtime

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"
)

// numbers finds the numbers of new communicators. A communicator's number is free at all its
// members when the communicator is made: they offer each other their free numbers (split.go). A
// process may be inside several Splits of parents with different members, and must not offer a
// number to two of them. So only one Split at a time may use the process's numbers, for one
// exchange. The others offer nothing and try again: no Split waits for another while it holds
// numbers. The Split of the parent with the lowest number goes first at every process, so that one
// of several overlapping Splits gets all numbers it needs (Gropp and Thakur: Thread-safety in an
// MPI implementation, 2007).
type numbers struct {
	generation uint32  // the highest epoch of any communicator so far
	splits     []uint8 // parents of the Splits that need a number
	user       int     // 1 + the parent whose Split uses the numbers; 0: none
}

// mask is a set of numbers.
type mask [maxComms / 64]uint64

func (m *mask) add(n uint8) { m[n/64] |= 1 << (n % 64) }

// lowest returns the lowest number of m; ok is false if m is empty.
func (m *mask) lowest() (n uint8, ok bool) {
	for i, word := range m {
		if word != 0 {
			return uint8(64*i + bits.TrailingZeros64(word)), true
		}
	}
	return 0, false
}

func (m *mask) and(other *mask) {
	for i := range m {
		m[i] &= other[i]
	}
}

// request records that the Split of parent needs a number. withdraw undoes it.
func (ns *numbers) request(parent uint8) { ns.splits = append(ns.splits, parent) }

func (ns *numbers) withdraw(parent uint8) {
	ns.release(parent)
	ns.splits = slices.DeleteFunc(ns.splits, func(p uint8) bool { return p == parent })
}

// acquire reports whether the Split of parent may use the numbers. It may until release.
func (ns *numbers) acquire(parent uint8) bool {
	if ns.user != 0 || slices.Min(ns.splits) != parent {
		return false
	}
	ns.user = 1 + int(parent)
	return true
}

func (ns *numbers) release(parent uint8) {
	if ns.user == 1+int(parent) {
		ns.user = 0
	}
}

// offer is the message of a rank to all others when they look for a number.
type offer struct {
	open       bool   // free holds numbers; false: another Split uses them
	generation uint32 // the highest epoch at the rank; the new communicator gets a higher one
	free       mask
	sets       uint8 // free sets of windows, as bits
	joined     bool  // the rank is in the group of its new communicator
}

const offerBytes = 1 + 4 + maxComms/8 + 1

func (o *offer) encode() []byte {
	b := make([]byte, 1, offerBytes)
	if o.open {
		b[0] = 1
	}
	if o.joined {
		b[0] |= 2
	}
	b = binary.BigEndian.AppendUint32(b, o.generation)
	for _, word := range o.free {
		b = binary.BigEndian.AppendUint64(b, word)
	}
	return append(b, o.sets)
}

func decodeOffer(b []byte) (o offer) {
	o.open, o.joined, o.generation = b[0]&1 != 0, b[0]&2 != 0, binary.BigEndian.Uint32(b[1:])
	for i := range o.free {
		o.free[i] = binary.BigEndian.Uint64(b[5+8*i:])
	}
	o.sets = b[offerBytes-1]
	return o
}

// outcome is the result of the offers of a communicator's members.
type outcome struct {
	agreed bool // false: one rank has offered nothing, and all try again
	number uint8
	epoch  uint32
	set    int  // set of windows that is free at all members; 0: none
	full   bool // no number is free at all members, or no epoch is left
	absent int  // first member that is not in the members' group; -1: none
}

// agree finds the number, the epoch and the set of windows of a new communicator of the given
// ranks.
func agree(offers []offer, ranks []int) outcome {
	var free mask
	for i := range free {
		free[i] = ^uint64(0)
	}
	sets := ^uint8(1)
	out := outcome{agreed: true, absent: -1}
	for _, r := range ranks {
		o := &offers[r]
		out.agreed = out.agreed && o.open
		out.epoch = max(out.epoch, o.generation)
		free.and(&o.free)
		sets &= o.sets
		if !o.joined && out.absent < 0 {
			out.absent = r
		}
	}
	out.set = lowestSet(sets)
	number, ok := free.lowest()
	out.number, out.full = number, !ok || out.epoch+1 == 0
	out.epoch++
	return out
}

// lowestSet returns the lowest set of windows in a set of bits, or 0 if there is none.
func lowestSet(sets uint8) int {
	if sets == 0 {
		return 0
	}
	return bits.TrailingZeros8(sets)
}

// agreeAll runs agree for each color and returns the outcomes of the colors whose members have all
// offered their numbers.
func agreeAll(offers []offer, colors map[int][]int) (map[int]outcome, error) {
	found := make(map[int]outcome)
	for _, color := range slices.Sorted(maps.Keys(colors)) {
		ranks := colors[color]
		out := agree(offers, ranks)
		if out.agreed && out.full {
			return nil, fmt.Errorf("%w: no communicator number is free at all of ranks %v", ErrTooMany, ranks)
		}
		if out.agreed {
			found[color] = out
		}
	}
	return found, nil
}
