package rdma

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/internal/transport/fragment"
)

func someCards() []card {
	return []card{
		{address: Address{GID: [16]byte{15: 1}, LID: 7, MTU: 1024, Ethernet: true, Multicasts: true}, key: 1, base: 1 << 60, gram: 17, group: Group{1}, qkey: 5},
		{address: Address{GID: [16]byte{15: 2}, MTU: 4096, Ethernet: true}, key: 2, base: 1 << 50, gram: 18},
	}
}

func TestCardRoundTrip(t *testing.T) {
	want := someCards()
	got, err := decodeCards([][]byte{want[0].encode(), want[1].encode()})
	require.NoError(t, err)
	require.Equal(t, want, got)
	payload, room := agree(got)
	require.Equal(t, 1024-fragment.HeadLen, payload)
	require.Equal(t, planFor(2, 4096).gramReceives*payload/2, room)
}

// A rank whose port joins no groups prevents all ranks from multicasting: they agree on their
// capabilities.
func TestMulticastsOfAllOrNone(t *testing.T) {
	c := someCards()
	require.False(t, multicasts(c))
	c[1].address.Multicasts = true
	require.True(t, multicasts(c))
}

func TestCardsThatDoNotFit(t *testing.T) {
	for want, edit := range map[string]func([]card){
		"ranks 0 and 1: one port is InfiniBand": func(c []card) { c[1].address.Ethernet = false },
		"ranks 0 and 1: their memory":           func(c []card) { c[1].order = 1 },
		"rank 1: its packets have 100 bytes":    func(c []card) { c[1].address.MTU = 100 },
		"rank 0: its packets have 9000 bytes":   func(c []card) { c[0].address.MTU = 9000 },
	} {
		c := someCards()
		edit(c)
		_, err := decodeCards([][]byte{c[0].encode(), c[1].encode()})
		require.ErrorContains(t, err, want)
	}
	_, err := decodeCards([][]byte{nil})
	require.ErrorContains(t, err, "rank 0: it does not use this version of transport verbs")
	b := someCards()
	_, err = decodeCards([][]byte{b[0].encode(), b[1].encode()[1:]})
	require.ErrorContains(t, err, "rank 1: it does not use this version of transport verbs")
}

// A rank's card must fit into the message that ranks exchange when they meet.
func TestCardFits(t *testing.T) {
	c := card{}
	require.LessOrEqual(t, len(c.encode()), meet.MaxBlob)
}

func TestDrawGroup(t *testing.T) {
	ones := bytes.Repeat([]byte{0xFF}, 18)
	g, key, err := drawGroup(bytes.NewReader(ones), true)
	require.NoError(t, err)
	require.Equal(t, Group{10: 0xFF, 11: 0xFF, 12: 239, 13: 0xFF, 14: 0xFF, 15: 0xFF}, g)
	require.Equal(t, uint32(1<<31-1), key)
	g, _, err = drawGroup(bytes.NewReader(ones), false)
	require.NoError(t, err)
	require.Equal(t, Group(append([]byte{0xFF, 0x12}, ones[:14]...)), g)
	_, _, err = drawGroup(bytes.NewReader(ones[:17]), true)
	require.ErrorContains(t, err, "draw the multicast group")
}
