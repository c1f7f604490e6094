package tcp

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

func drawHeader(t *rapid.T) wire.Header {
	h := wire.Header{
		Kind:  rapid.SampledFrom([]wire.FrameKind{wire.FrameSlot, wire.FrameCast, wire.FrameProbe, kindMore, kindCut, kindEnd, kindGoodbye}).Draw(t, "kind"),
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
		"unknown kind": edit(slot, func(r *record) { r[2] = 0xFB }),
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
		want.turn = rapid.Uint8().Draw(t, "turn")
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
	encodeHeader(&r, &wire.Header{Kind: wire.FrameCast, Comm: 255})
	f.Add(r[:])
	for _, r := range []record{goodbye(3, 2), mark(kindMore), mark(kindCut), mark(kindEnd)} {
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

func TestHelloRoundTrip(t *testing.T) {
	want := &hello{rank: 3, size: 9, addr: "[::1]:5", blob: []byte("blob")}
	got, err := readHello(bytes.NewReader(appendHello(nil, want)))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestTableRoundTrip(t *testing.T) {
	want := &table{id: [16]byte{1, 2}, addrs: []string{":1", "h:2"}, blobs: [][]byte{{}, []byte("b")}}
	r := bytes.NewReader(appendTable(nil, want))
	status, err := readStatus(r)
	require.NoError(t, err)
	require.Empty(t, status)
	got, err := readTable(r, 2)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Zero(t, r.Len())
}

func TestLongReasonsAreCut(t *testing.T) {
	status, err := readStatus(bytes.NewReader(appendStatus(nil, strings.Repeat("x", 1<<17))))
	require.NoError(t, err)
	require.Len(t, status, maxText)
}

func FuzzHello(f *testing.F) {
	f.Add(appendHello(nil, &hello{rank: 1, size: 2, addr: "a:1", blob: []byte("x")}))
	f.Add([]byte("GET / HTTP/1.0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := readHello(bytes.NewReader(b))
		var version *versionError
		switch {
		case err == nil:
			require.Less(t, h.rank, h.size)
			require.True(t, bytes.HasPrefix(b, appendHello(nil, h)))
		case !errors.As(err, &version):
			require.ErrorIs(t, err, errStranger)
		}
	})
}

func FuzzTable(f *testing.F) {
	f.Add(appendTable(nil, &table{addrs: []string{"a:1", "b:2"}, blobs: [][]byte{nil, nil}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		if _, err := readStatus(r); err != nil {
			return
		}
		tab, err := readTable(r, 2)
		if err != nil {
			require.False(t, errors.Is(err, io.EOF) && len(b) > 4*(maxText+MaxBlob))
			return
		}
		require.Len(t, tab.addrs, 2)
		require.Len(t, tab.blobs, 2)
	})
}

func TestRankList(t *testing.T) {
	for want, ranks := range map[string][]int{
		"rank 4":             {4},
		"ranks 1 and 3":      {1, 3},
		"ranks 1-3":          {1, 2, 3},
		"ranks 0, 2-4 and 9": {0, 2, 3, 4, 9},
		"ranks 1, 3, 5, 7, 9, 11, 13, 15 and 2 further runs of ranks": {1, 3, 5, 7, 9, 11, 13, 15, 17, 19},
	} {
		require.Equal(t, want, rankList(ranks))
	}
}
