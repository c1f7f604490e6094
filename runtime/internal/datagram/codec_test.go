package datagram

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// datagram encodes one whole datagram.
func datagram(id [16]byte, h wire.Header, from, chunk, offset int, payload []byte) []byte {
	var b [headerLen]byte
	encodePart(&b, &id, &h, from, chunk, offset, payload)
	return append(b[:], payload...)
}

// reseal makes the checksum of a changed datagram right again.
func reseal(b []byte) []byte {
	binary.BigEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli))
	return b
}

func TestPartRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		limit := rapid.IntRange(1, 300).Draw(t, "limit")
		chunk := rapid.IntRange(0, 1000).Draw(t, "chunk")
		offset := 0
		if chunk > 0 {
			offset = rapid.IntRange(0, (chunk-1)/limit).Draw(t, "part") * limit
		}
		payload := rapid.SliceOfN(rapid.Byte(), min(limit, chunk-offset), min(limit, chunk-offset)).Draw(t, "payload")
		h := wire.Header{
			Kind: wire.FrameSlot, Comm: rapid.Uint8().Draw(t, "comm"), Epoch: rapid.Uint32().Draw(t, "epoch"), Seq: rapid.Uint64().Draw(t, "seq"),
			Slot: ir.Slot(rapid.Uint32().Draw(t, "slot")), Arg: rapid.Uint32().Draw(t, "arg"), Print: rapid.Uint32().Draw(t, "print"),
		}
		b := datagram(id, h, 3, chunk, offset, payload)
		var p part
		require.Equal(t, sound, decodePart(b, &id, 4, limit, &p))
		h.From, h.Len = 3, chunk
		require.Equal(t, part{h, offset, len(payload)}, p)

		// No single change goes unnoticed.
		b[rapid.IntRange(0, len(b)-1).Draw(t, "byte")] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		require.NotEqual(t, sound, decodePart(b, &id, 4, limit, &p))
	})
}

func TestPartRefusals(t *testing.T) {
	id := [16]byte{1, 2, 3}
	good := func() []byte {
		return datagram(id, wire.Header{Kind: wire.FrameSlot}, 1, 250, 100, make([]byte, 100))
	}
	put := func(at int, v uint32) []byte {
		b := good()
		binary.BigEndian.PutUint32(b[at:], v)
		return reseal(b)
	}
	var p part
	require.Equal(t, sound, decodePart(good(), &id, 2, 100, &p))
	for name, c := range map[string]struct {
		b    []byte
		want fault
	}{
		"empty":             {nil, foreign},
		"garbage":           {[]byte("GET / HTTP/1.0"), foreign},
		"version":           {put(0, magic+1), foreign},
		"identity":          {put(8, 99), foreign},
		"short":             {good()[:headerLen-1], torn},
		"cut":               {good()[:150], torn},
		"cut and resealed":  {reseal(good()[:150]), torn},
		"longer":            {reseal(append(good(), 0)), torn},
		"checksum":          {append(good()[:163], 1), torn},
		"sender":            {put(24, 2), torn},
		"chunk too long":    {put(52, 1<<31), torn},
		"offset beyond":     {put(56, 300), torn},
		"offset within":     {put(56, 101), torn},
		"last part full":    {put(56, 200), torn},
		"chunk too short":   {put(52, 150), torn},
		"kind":              {put(60, 100<<16|99<<8), torn},
		"payload in header": {put(60, 99<<16|1<<8), torn},
	} {
		require.Equal(t, c.want, decodePart(c.b, &id, 2, 100, &p), name)
	}
}

func FuzzPart(f *testing.F) {
	id := [16]byte{7}
	f.Add(datagram(id, wire.Header{Kind: wire.FrameSlot, Seq: 1}, 0, 5, 0, []byte("hello")))
	f.Add(datagram(id, wire.Header{Kind: wire.FrameWant, Comm: 255}, 3, 0, 0, nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, checked(b, id)} {
			var p part
			if decodePart(b, &id, 4, 100, &p) != sound {
				continue
			}
			require.Less(t, p.From, 4)
			require.Equal(t, len(b)-headerLen, p.payload)
			require.LessOrEqual(t, p.offset+p.payload, p.Len)
			require.Equal(t, b, datagram(id, p.Header, p.From, p.Len, p.offset, b[headerLen:]))
		}
	})
}

// checked gives b a magic, an identity and a checksum that are right.
func checked(b []byte, id [16]byte) []byte {
	if len(b) < headerLen {
		return b
	}
	b = append([]byte(nil), b...)
	binary.BigEndian.PutUint32(b, magic)
	copy(b[8:], id[:])
	return reseal(b)
}

func TestCardRoundTrip(t *testing.T) {
	for _, c := range []card{
		{4, 1372, 1 << 20, netip.MustParseAddrPort("10.1.2.3:4"), netip.MustParseAddrPort("10.1.2.3:5"), netip.MustParseAddrPort("239.1.2.3:17000")},
		{6, 65000, 1 << 20, netip.MustParseAddrPort("[fd00::1]:4"), netip.MustParseAddrPort("[fd00::1]:5"), netip.MustParseAddrPort("[ff15::9]:17000")},
	} {
		got, err := decodeCard(c.encode())
		require.NoError(t, err)
		require.Equal(t, c, got)
	}
}

func TestCardsThatDoNotFit(t *testing.T) {
	base := func() []card {
		return []card{
			{4, 1000, 1 << 20, netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("10.0.0.1:2"), netip.MustParseAddrPort("239.0.0.9:17000")},
			{4, 900, 1 << 20, netip.MustParseAddrPort("10.0.0.2:1"), netip.MustParseAddrPort("10.0.0.2:2"), netip.AddrPortFrom(netip.IPv4Unspecified(), 0)},
		}
	}
	try := func(edit func([]card)) (*deck, error) {
		cards := base()
		edit(cards)
		return gather([][]byte{cards[0].encode(), cards[1].encode()})
	}
	d, err := try(func([]card) {})
	require.NoError(t, err)
	require.Equal(t, 900, d.payload)
	require.Equal(t, 1<<20, d.room)
	require.Equal(t, "239.0.0.9:17000", d.group.String())
	for want, edit := range map[string]func([]card){
		"rank 1 multicasts in IPv6, rank 0 in IPv4": func(c []card) { c[1].family = 6 },
		"only one is a loopback":                    func(c []card) { c[1].sender = netip.MustParseAddrPort("127.0.0.1:5") },
		"rank 1: datagrams of 3 bytes":              func(c []card) { c[1].payload = 3 },
		"which is none":                             func(c []card) { c[0].group = netip.MustParseAddrPort("10.0.0.1:5") },
	} {
		_, err := try(edit)
		require.ErrorContains(t, err, want)
	}
	_, err = gather([][]byte{base()[0].encode(), nil})
	require.ErrorContains(t, err, "rank 1: it does not multicast")
}

func TestDrawGroup(t *testing.T) {
	ones := func(b []byte) (int, error) {
		for i := range b {
			b[i] = 0xFF
		}
		return len(b), nil
	}
	g, err := drawGroup(readFunc(ones), 6)
	require.NoError(t, err)
	require.Equal(t, "[ff15:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:32767", g.String())
	g, err = drawGroup(readFunc(ones), 4)
	require.NoError(t, err)
	require.Equal(t, "239.255.255.255:32767", g.String())
	_, err = drawGroup(readFunc(func([]byte) (int, error) { return 0, errDice }), 4)
	require.ErrorIs(t, err, errDice)
}

var errDice = errors.New("no dice")

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

func TestPayloadFor(t *testing.T) {
	for _, c := range []struct{ mtu, family, want int }{
		{1500, 4, 1500 - 28 - headerLen}, {1500, 6, 1500 - 48 - headerLen},
		{65536, 4, 65507 - headerLen}, {1 << 20, 6, 65487 - headerLen}, {156, 4, 64},
	} {
		n, err := payloadFor(c.mtu, c.family, headerLen)
		require.NoError(t, err)
		require.Equal(t, c.want, n)
	}
	_, err := payloadFor(155, 4, headerLen)
	require.ErrorContains(t, err, "MTU of 155")
}
