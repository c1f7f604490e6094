package loss

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core/internal/bitset"
)

// Fragments tracks the datagrams of an operation's chunks: the process-local status bitmap of paper
// 000, section 2.1. Fragments are numbered over all chunks.
type Fragments struct {
	size  int        // bytes of a full fragment
	first []int32    // chunk -> its first fragment; one longer than the chunks; empty until Layout
	got   bitset.Set // fragments that have arrived
	left  []int32    // chunk -> how many fragments are missing
}

func (f *Fragments) reset() { f.first = f.first[:0] }

// LaidOut reports whether Layout has been called in this operation.
func (f *Fragments) LaidOut() bool { return len(f.first) > 0 }

// Layout numbers the fragments, of at most size bytes each. bytes returns the length of a chunk.
func (f *Fragments) Layout(size, chunks int, bytes func(k int) int) {
	f.size, f.first, f.left = size, append(f.first[:0], 0), f.left[:0]
	for k := range chunks {
		pieces := int32(max(1, (bytes(k)+size-1)/size))
		f.left = append(f.left, pieces)
		f.first = append(f.first, f.first[k]+pieces)
	}
	f.got = f.got.Cleared(f.count())
}

// Fits reports whether a payload of length bytes at a byte is a whole fragment of a chunk of n
// bytes.
func (f *Fragments) Fits(n, at, length int) bool {
	if at < 0 || at > n || at%f.size != 0 {
		return false
	}
	return length == min(f.size, n-at) && (length > 0 || n == 0)
}

// number returns the number of the fragment of chunk k at a byte.
func (f *Fragments) number(k, at int) int { return int(f.first[k]) + at/f.size }

// add records that the fragment of chunk k at a byte has arrived. last reports whether it completes
// the chunk.
func (f *Fragments) add(k, at int) (last bool) {
	i := f.number(k, at)
	if f.got.Has(i) {
		return false
	}
	f.got.Add(i)
	f.left[k]--
	return f.left[k] == 0
}

// chunkOf returns the chunk of fragment i.
func (f *Fragments) chunkOf(i int) int {
	k, found := slices.BinarySearch(f.first, int32(i))
	if !found {
		k--
	}
	return k
}

// Span returns where fragments lo to hi-1 lie in chunk k, which has n bytes.
func (f *Fragments) Span(k, lo, hi, n int) (from, to int) {
	first := int(f.first[k])
	return (lo - first) * f.size, min((hi-first)*f.size, n)
}

// count returns how many fragments the message has.
func (f *Fragments) count() int { return int(f.first[len(f.first)-1]) }

// has reports whether fragment i has arrived as a datagram.
func (f *Fragments) has(i int) bool { return f.got.Has(i) }
