package core

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/core/internal/bitset"
)

// fragments tracks the datagrams of an operation's chunks: the process-local status bitmap of paper
// 000, section 2.1.
type fragments struct {
	size  int        // bytes of a full fragment
	first []int32    // chunk -> its first fragment; one longer than the chunks; empty until a datagram has arrived
	got   bitset.Set // fragment -> whether it has arrived
	left  []int32    // chunk -> how many fragments are missing
}

func (f *fragments) reset() { f.first = f.first[:0] }

// laidOut reports whether layout has been called since reset.
func (f *fragments) laidOut() bool { return len(f.first) > 0 }

// layout prepares for the chunks of o, whose blocks have one length, in datagrams of size bytes.
func (f *fragments) layout(o *op, size int) {
	f.begin(size)
	per := max(o.plan.places.per, 1)
	for k := range o.chunks {
		lo, hi := 0, 0
		if o.n > 0 {
			lo, hi = o.bounds(o.n, k%per)
		}
		f.append(hi - lo)
	}
	f.got = f.got.Cleared(f.count())
}

// layoutBlocks is layout for an operation whose blocks have lengths of their own.
func (f *fragments) layoutBlocks(o *op, size int) {
	f.begin(size)
	for k := range o.chunks {
		f.append(o.lengthFrom(k, 1))
	}
	f.got = f.got.Cleared(f.count())
}

func (f *fragments) begin(size int) {
	f.size, f.first, f.left = size, append(f.first[:0], 0), f.left[:0]
}

// append adds a chunk with that many bytes.
func (f *fragments) append(bytes int) {
	pieces := int32(max(1, (bytes+f.size-1)/f.size))
	f.left = append(f.left, pieces)
	f.first = append(f.first, f.first[len(f.first)-1]+pieces)
}

// fits reports whether a payload of length bytes at offset is a whole
// fragment of a chunk of n bytes.
func (f *fragments) fits(n, offset, length int) bool {
	if offset < 0 || offset > n || offset%f.size != 0 {
		return false
	}
	return length == min(f.size, n-offset) && (length > 0 || n == 0)
}

// add marks the fragment of chunk k at offset as arrived. last reports whether it completes the
// chunk.
func (f *fragments) add(k, offset int) (last bool) {
	bit := int(f.first[k]) + offset/f.size
	if f.got.Has(bit) {
		return false
	}
	f.got.Add(bit)
	f.left[k]--
	return f.left[k] == 0
}

// chunkOf returns the chunk of fragment i.
func (f *fragments) chunkOf(i int) int {
	k, found := slices.BinarySearch(f.first, int32(i))
	if !found {
		k--
	}
	return k
}

// count returns how many fragments the message has.
func (f *fragments) count() int { return int(f.first[len(f.first)-1]) }

// has reports whether fragment i has arrived as a datagram.
func (f *fragments) has(i int) bool { return f.got.Has(i) }
