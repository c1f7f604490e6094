package fragment

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// datagram encodes one whole datagram.
func datagram(id [16]byte, h wire.Header, from, chunk, offset int, payload []byte) []byte {
	var b [HeadLen]byte
	mark := MarkOf(id)
	Encode(&b, &mark, &h, from, chunk, offset, payload)
	return append(b[:], payload...)
}

// reseal recomputes the checksum of a changed datagram.
func reseal(b []byte, id [16]byte) []byte {
	binary.BigEndian.PutUint32(b, crc32.Checksum(append(id[:], b[4:]...), castagnoli))
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
		b, mark := datagram(id, h, 3, chunk, offset, payload), MarkOf(id)
		var p Part
		require.Equal(t, Sound, Decode(b, &mark, 4, limit, &p))
		h.From, h.Len = 3, chunk
		require.Equal(t, Part{h, offset, len(payload)}, p)

		// Every single change is detected.
		b[rapid.IntRange(0, len(b)-1).Draw(t, "byte")] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		require.NotEqual(t, Sound, Decode(b, &mark, 4, limit, &p))
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
		return reseal(b, id)
	}
	var p Part
	mark := MarkOf(id)
	require.Equal(t, Sound, Decode(good(), &mark, 2, 100, &p))
	for name, c := range map[string]struct {
		b    []byte
		want Fault
	}{
		"empty":            {nil, Foreign},
		"garbage":          {[]byte("GET / HTTP/1.0"), Foreign},
		"version":          {put(4, (magic+1)<<16), Foreign},
		"identity":         {put(8, 99), Foreign},
		"identity's end":   {reseal(good(), [16]byte{1, 2, 3, 15: 1}), Torn},
		"short":            {good()[:HeadLen-1], Torn},
		"cut":              {good()[:130], Torn},
		"cut and resealed": {reseal(good()[:130], id), Torn},
		"longer":           {reseal(append(good(), 0), id), Torn},
		"checksum":         {append(good()[:147], 1), Torn},
		"sender":           {put(12, 2), Torn},
		"chunk too long":   {put(40, 1<<31), Torn},
		"offset beyond":    {put(44, 300), Torn},
		"offset within":    {put(44, 101), Torn},
		"last part full":   {put(44, 200), Torn},
		"chunk too short":  {put(40, 150), Torn},
		"kind":             {put(4, magic<<16|99<<8), Torn},
	} {
		require.Equal(t, c.want, Decode(c.b, &mark, 2, 100, &p), name)
	}
}

func FuzzPart(f *testing.F) {
	id := [16]byte{7}
	f.Add(datagram(id, wire.Header{Kind: wire.FrameSlot, Seq: 1}, 0, 5, 0, []byte("hello")))
	f.Add(datagram(id, wire.Header{Kind: wire.FrameWant, Comm: 255}, 3, 0, 0, nil))
	f.Add([]byte{})
	mark := MarkOf(id)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, checked(b, id)} {
			var p Part
			if Decode(b, &mark, 4, 100, &p) != Sound {
				continue
			}
			require.Less(t, p.From, 4)
			require.Equal(t, len(b)-HeadLen, p.Payload)
			require.LessOrEqual(t, p.Offset+p.Payload, p.Len)
			require.Equal(t, b, datagram(id, p.Header, p.From, p.Len, p.Offset, b[HeadLen:]))
		}
	})
}

// checked gives b a correct magic, identity and checksum.
func checked(b []byte, id [16]byte) []byte {
	if len(b) < HeadLen {
		return b
	}
	b = append([]byte(nil), b...)
	binary.BigEndian.PutUint16(b[4:], magic)
	copy(b[8:12], id[:])
	return reseal(b, id)
}
