package mismatch

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// named is a call with a name.
type named string

func (c named) Words(n int) string { return fmt.Sprintf("%s of %d bytes", string(c), n) }

// own is the fingerprint of a call by itself.
func own(c named, n int) uint32 {
	p := uint32(2166136261)
	for _, b := range []byte(c.Words(n)) {
		p = (p ^ uint32(b)) * 16777619
	}
	return p | 1
}

// rank is a rank that calls something.
type rank struct {
	History
	seq    uint64
	print  uint32
	prints []uint32 // by operation
}

func (r *rank) calls(c named, n int) {
	r.seq++
	r.print = Following(r.print, own(c, n))
	for uint64(len(r.prints)) <= r.seq {
		r.prints = append(r.prints, 0)
	}
	r.prints[r.seq] = r.print
	r.Note(r.seq, r.print, own(c, n), c, n)
}

// Following is its own inverse, and its results are odd.
func TestFollowing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, own := rapid.Uint32().Draw(t, "before")|1, rapid.Uint32().Draw(t, "own")|1
		both := Following(before, own)
		require.EqualValues(t, 1, both&1)
		require.Equal(t, own, Following(before, both))
	})
}

func TestHistoryIsBounded(t *testing.T) {
	var r rank
	_, ok := r.Past(0)
	require.False(t, ok)
	for n := range 1000 {
		r.calls("bcast", n%3)
	}
	for seq := uint64(1000); seq > 872; seq-- {
		p, ok := r.Past(seq)
		require.True(t, ok)
		require.Equal(t, r.prints[seq], p)
		if seq > 873 {
			require.Equal(t, own("bcast", int(seq-1)%3), r.Own(seq, p))
		}
	}
	require.Zero(t, r.Own(873, r.prints[873]), "what comes before is forgotten")
	_, ok = r.Past(872)
	require.False(t, ok, "forgotten")
	_, ok = r.Past(1001)
	require.False(t, ok, "it has not begun")
	require.Len(t, r.Before(1001), 128)
	require.Equal(t, r.prints[1000], r.Before(1001)[0])
	require.Empty(t, r.Before(1))
}

// A rank describes its last calls, and a repeated one however long ago it was first called.
func TestWords(t *testing.T) {
	var r rank
	for range 4000 {
		r.calls("bcast", 8)
	}
	for range 1000 {
		r.calls("bcast", 9)
	}
	for seq, want := range map[uint64]string{1: "bcast of 8 bytes", 4000: "bcast of 8 bytes", 4001: "bcast of 9 bytes", 5000: "bcast of 9 bytes"} {
		require.Equal(t, want, r.Words(seq, 0), "operation %d", seq)
	}
	require.Equal(t, "something that it no longer knows", r.Words(5001, 0))
	require.Equal(t, "bcast of 8 bytes", r.Words(5001, own("bcast", 8)), "by what another rank says")
	for range 64 {
		r.calls("barrier", 0)
		r.calls("bcast", 7)
	}
	require.Equal(t, "bcast of 8 bytes", r.Words(1, own("bcast", 8)), "its run is forgotten, the call is not")
}

// The histories of two ranks show the first operation that differs, as far back as both remember.
func TestParted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b rank
		n := rapid.Uint64Range(1, 400).Draw(t, "operations")
		differ := rapid.Uint64Range(1, n).Draw(t, "first that differs")
		for seq := uint64(1); seq <= n; seq++ {
			a.calls("bcast", 8)
			if seq == differ {
				b.calls("bcast", 9)
			} else {
				b.calls("bcast", 8)
			}
		}
		first, theirs := a.Parted(n, b.Before(n))
		require.Equal(t, max(differ, n-min(n-1, 127)), first)
		if first < n {
			require.Equal(t, b.prints[first], theirs)
		}
		if first == differ && differ > n-127 && first < n {
			require.Equal(t, own("bcast", 9), a.Own(first, theirs))
		}
	})
}

// A copy of a History is independent.
func TestHistoryCopies(t *testing.T) {
	var r rank
	r.calls("bcast", 8)
	c := r.History
	r.calls("bcast", 9)
	_, ok := c.Past(2)
	require.False(t, ok)
	require.Equal(t, "bcast of 8 bytes", c.Words(1, 0))
}
