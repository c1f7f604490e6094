package stream

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

func drawHeader(t *rapid.T) wire.Header {
	h := wire.Header{
		Kind:  rapid.SampledFrom([]wire.FrameKind{wire.FrameSlot, wire.FramePublish, wire.FrameProbe, kindMore, kindCut, kindEnd, kindGoodbye}).Draw(t, "kind"),
		Comm:  rapid.Uint8().Draw(t, "comm"),
		Epoch: rapid.Uint32().Draw(t, "epoch"),
		Seq:   rapid.Uint64().Draw(t, "seq"),
		Slot:  ir.Slot(rapid.Uint32().Draw(t, "slot")),
		Arg:   rapid.Uint32().Draw(t, "arg"),
		Print: rapid.Uint32().Draw(t, "print"),
	}
	h.Len = rapid.IntRange(0, bodyLimit(h.Kind)).Draw(t, "len")
	return h
}

func TestHeaderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawHeader(t)
		var r record
		encodeHeader(&r, &want)
		var got wire.Header
		require.NoError(t, decodeHeader(r[:], &got))
		require.Equal(t, want, got)
		require.Equal(t, want.Kind.Valid(), isFrame(&r))
	})
}

func TestHeaderRefusals(t *testing.T) {
	edit := func(h wire.Header, f func(*record)) []byte {
		var r record
		encodeHeader(&r, &h)
		f(&r)
		return r[:]
	}
	slot := wire.Header{Kind: wire.FrameSlot}
	for name, b := range map[string][]byte{
		"magic":        edit(slot, func(r *record) { r[0]++ }),
		"no kind":      edit(slot, func(r *record) { r[2] = 0 }),
		"unknown kind": edit(slot, func(r *record) { r[2] = 0xFA }),
		"body":         edit(slot, func(r *record) { r[28] = 0x80 }),
		"control body": edit(wire.Header{Kind: wire.FrameAbort, Len: wire.MaxControl + 1}, func(*record) {}),
		"goodbye body": edit(wire.Header{Kind: kindGoodbye, Len: 1}, func(*record) {}),
	} {
		var h wire.Header
		require.ErrorIs(t, decodeHeader(b, &h), errNoFrame, name)
	}
}

func TestGreetingRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := greeting{size: rapid.IntRange(1, ir.MaxRanks).Draw(t, "size")}
		want.rank = rapid.IntRange(0, want.size-1).Draw(t, "rank")
		want.lane = wire.Lane(rapid.IntRange(0, int(wire.Lanes)-1).Draw(t, "lane"))
		want.turn = uint64(rapid.Uint8().Draw(t, "turn")) // only these bits are sent
		if want.lane == wire.LaneOps {
			want.comm = rapid.Uint8().Draw(t, "comm")
		}
		copy(want.id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		r := encodeGreeting(&want)
		require.False(t, isFrame(&r))
		got, ok := decodeGreeting(r[:], want.id, want.size)
		require.True(t, ok)
		require.Equal(t, want, got)
		r[rapid.IntRange(0, recordLen-1).Draw(t, "byte")] ^= 0xFF
		if got, ok = decodeGreeting(r[:], want.id, want.size); ok {
			require.NotEqual(t, want, got, "a changed greeting reads the same")
		}
	})
}

func FuzzHeader(f *testing.F) {
	var r record
	encodeHeader(&r, &wire.Header{Kind: wire.FrameSlot, Seq: 7, Len: 99})
	f.Add(r[:])
	encodeHeader(&r, &wire.Header{Kind: wire.FramePublish, Comm: 255})
	f.Add(r[:])
	for _, r := range []record{begun(3), goodbye(2), mark(kindMore), mark(kindCut), mark(kindEnd)} {
		f.Add(r[:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < recordLen {
			return
		}
		var h wire.Header
		if decodeHeader(b, &h) != nil {
			return
		}
		require.LessOrEqual(t, h.Len, bodyLimit(h.Kind))
		var again record
		encodeHeader(&again, &h)
		require.Equal(t, b[:recordLen], again[:])
	})
}
