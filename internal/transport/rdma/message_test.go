package rdma

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.IntRange(0, 1000).Draw(t, "body")
		piece := rapid.IntRange(0, body).Draw(t, "piece")
		h := wire.Header{
			Kind: wire.FrameSlot, Lane: wire.Lane(rapid.IntRange(0, 1).Draw(t, "lane")), Comm: rapid.Uint8().Draw(t, "comm"),
			Epoch: rapid.Uint32().Draw(t, "epoch"), Seq: rapid.Uint64().Draw(t, "seq"), Slot: ir.Slot(rapid.Uint32().Draw(t, "slot")),
			Arg: rapid.Uint32().Draw(t, "arg"), Print: rapid.Uint32().Draw(t, "print"), Len: body,
		}
		b := make([]byte, recordLen+piece+7)
		encodeRecord(b, &h, piece)
		var r record
		rest, err := decodeRecord(b, &r)
		require.NoError(t, err)
		require.Equal(t, record{h, piece}, r)
		require.Len(t, rest, piece+7)
	})
}

func TestRecordRefusals(t *testing.T) {
	good := func() []byte {
		b := make([]byte, recordLen+100)
		encodeRecord(b, &wire.Header{Kind: wire.FrameSlot, Len: 200}, 100)
		return b
	}
	put := func(at int, v uint32) []byte {
		b := good()
		binary.BigEndian.PutUint32(b[at:], v)
		return b
	}
	var r record
	_, err := decodeRecord(good(), &r)
	require.NoError(t, err)
	for want, b := range map[string][]byte{
		"within a record's head":               good()[:recordLen-1],
		"unknown kind 99":                      put(0, 99<<24),
		"unknown kind 249":                     put(0, 249<<24),
		"unknown kind 255":                     put(0, 255<<24),
		"unknown lane 2":                       put(0, uint32(wire.FrameSlot)<<24|2<<16),
		"a piece of 101 bytes":                 put(4, 101),
		"a piece of 100 bytes in a body of 99": put(32, 99),
		"where 2147483647 are allowed":         put(32, 1<<31),
		"with 200 bytes, where 0 are":          put(0, uint32(kindMore)<<24),
		"but 99 bytes follow":                  good()[:recordLen+99],
		"kind 4 with 4294967295 bytes, ":       append(put(0, uint32(wire.FrameProbe)<<24)[:32], 255, 255, 255, 255),
	} {
		_, err := decodeRecord(b, &r)
		require.ErrorIs(t, err, errNoMessage, want)
		require.ErrorContains(t, err, want)
	}
	_, err = decodeMessage([]byte{1, 2, 3})
	require.ErrorContains(t, err, "begins with 010203")
	_, err = decodeMessage(make([]byte, 20))
	require.ErrorIs(t, err, errNoMessage)
}

// FuzzMessage makes a rank read bytes that no rank has written. The rank fails or not, and never
// keeps more of a lane than it may.
func FuzzMessage(f *testing.F) {
	message := func(h wire.Header, piece int) []byte {
		b := make([]byte, messageHead+recordLen+piece)
		encodeMessage(b)
		encodeRecord(b[messageHead:], &h, piece)
		return b
	}
	f.Add(message(wire.Header{Kind: wire.FrameSlot, Len: 10}, 10), true)
	f.Add(append(message(wire.Header{Kind: wire.FramePublish, Lane: wire.LaneControl, Len: 10}, 4), message(wire.Header{Kind: kindMore, Lane: wire.LaneControl}, 6)[messageHead:]...), false)
	f.Add(message(wire.Header{Kind: kindTook, Arg: 1}, 0), false)
	f.Add(message(wire.Header{Kind: kindGoodbye}, 0), false)
	f.Fuzz(func(t *testing.T, b []byte, hold bool) {
		tr := &Transport{rank: 0, size: 2, peers: make([]pair, 2), plan: planFor(2, 1024)}
		tr.peers[1] = pair{rank: 1, credit: credit{limit: 32, posted: 32, told: 32}}
		s := &gulp{hold: hold}
		for range 3 {
			if tr.read(&tr.peers[1], b, s) != nil {
				break
			}
			s.hold = !s.hold
			tr.offer(s)
		}
		for _, l := range tr.peers[1].in {
			if l != nil {
				require.LessOrEqual(t, len(l.stash)-l.at, laneWindow)
			}
		}
	})
}

// gulp is a sink that takes all frames, or holds all.
type gulp struct {
	hold bool
	got  int
}

func (g *gulp) Body(h *wire.Header) ([]byte, wire.Verdict) {
	switch {
	case g.hold:
		return nil, wire.Hold
	case h.Len > 1<<20:
		return nil, wire.Drop
	}
	return make([]byte, h.Len), wire.Accept
}

func (g *gulp) Arrived(*wire.Header, []byte)                    { g.got++ }
func (g *gulp) Fragment(*wire.Header, int, []byte) wire.Verdict { return wire.Drop }
func (g *gulp) Ended(int, wire.End, error)                      {}
