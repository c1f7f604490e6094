package fragment

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// picky is a sink that takes only some operations.
type picky struct {
	wire.Sink
	accepts func(seq uint64) bool
	got     []string
}

func (p *picky) Fragment(h *wire.Header, _ int, payload []byte) wire.Verdict {
	if !p.accepts(h.Seq) {
		return wire.Hold
	}
	p.got = append(p.got, string(payload))
	return wire.Accept
}

func TestStashKeepsOrderAndClosesGaps(t *testing.T) {
	var k stash
	add := func(seq uint64, payload string) {
		k.add(&Part{Header: wire.Header{Seq: seq}, Payload: len(payload)}, []byte(payload))
	}
	for i, payload := range []string{"zero", "", "two is longer", "three", "four"} {
		add(uint64(i), payload)
	}
	s := &picky{accepts: func(uint64) bool { return false }}
	require.False(t, k.offer(s))
	s.accepts = func(seq uint64) bool { return seq%2 == 1 }
	require.True(t, k.offer(s))
	require.Equal(t, "zerotwo is longerfour", string(k.bytes))
	add(7, "seven")
	s.accepts = func(uint64) bool { return true }
	require.True(t, k.offer(s))
	require.Equal(t, []string{"", "three", "zero", "two is longer", "four", "seven"}, s.got)
	require.Empty(t, k.heads)
	require.Empty(t, k.bytes)
}

// A stash allocates memory as needed: most ranks hold back only a few signals.
func TestStashGrows(t *testing.T) {
	k := stash{room: 3 << 20}
	var all string
	for i := 0; !k.full(); i++ {
		payload := []byte{byte(i), byte(i >> 8), 9}
		k.add(&Part{Header: wire.Header{Seq: uint64(i)}, Payload: 3}, payload)
		all += string(payload)
		require.LessOrEqual(t, cap(k.bytes), max(stashFirst, 2*len(k.bytes)))
	}
	require.Equal(t, all, string(k.bytes))
	k.heads = k.heads[:1]
	for big := make([]byte, stashMargin); !k.full(); {
		k.add(&Part{Payload: len(big)}, big)
	}
	require.Equal(t, 3<<20, cap(k.bytes), "no more than what it may hold")
}

func TestStashIsBounded(t *testing.T) {
	var k stash
	payload := make([]byte, 60_000)
	for !k.full() {
		k.add(&Part{Payload: len(payload)}, payload)
	}
	require.LessOrEqual(t, len(k.bytes), stashBytes)
	require.Greater(t, len(k.bytes), stashBytes/2)
	require.Equal(t, stashBytes, cap(k.bytes))

	var small stash
	for !small.full() {
		small.add(&Part{}, nil)
	}
	require.Len(t, small.heads, stashHeads)
}
