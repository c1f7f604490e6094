package datagram

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/internal/transport/stream"
	"github.com/schedgen/schedgen/runtime/wire"
)

// TestNeighbourWithoutTheKey has another user's process on the host attack ranks without a key. It
// even knows the whole identity, although datagrams show only its beginning. It joins the group,
// reads the operation there, and sends a chunk of its own to the group and to each rank. It also
// connects to the ranks, whose ports it can list, and greets as a rank. The ranks take none of
// this, and go on.
func TestNeighbourWithoutTheKey(t *testing.T) {
	var addrs []string
	trs := joinedEach(t, 2, func(rank int, c *Config) {
		if rank == 0 {
			c.TCP.Prepare = func(_ context.Context, _ *stream.Transport, m *meet.Meeting) error { addrs = m.Addrs; return nil }
		}
	})
	tr, s := trs[0], &tally{}
	lo, err := net.InterfaceByName("lo")
	require.NoError(t, err)
	ear, err := openReceiver(&endpoint{lo, 4, netip.MustParseAddr("127.0.0.1")}, tr.target)
	require.NoError(t, err)
	t.Cleanup(func() { closeFD(ear) })

	h := wire.Header{Kind: wire.FrameSlot, Seq: 7}
	trs[1].Mcast(&wire.Frame{Header: h, Body: []byte("hello")})
	until(t, tr, s, func() bool { trs[1].Poll(&tally{}); return s.fragments == 1 })
	heard := make([]byte, 1<<16)
	n, err := unix.Read(ear, heard)
	require.NoError(t, err)
	heard = heard[:n]
	id := tr.ID()
	require.Equal(t, id[:4], heard[8:12])
	require.NotContains(t, string(heard), string(id[4:]))

	forged := whole(id, wire.Header{Kind: wire.FrameSlot, Seq: binary.BigEndian.Uint64(heard[24:]) + 1}, 1, 5, 0, []byte("wrong"))
	sendRaw(t, outsider(t, tr.target), forged)
	sendRaw(t, outsider(t, tr.arrival.own.sources[0]), forged)
	until(t, tr, s, func() bool { return tr.Stats().Forged == 2 })

	for _, proof := range [][]byte{make([]byte, 16), id[:]} {
		before := tr.Stats().Rejected
		conn, err := net.Dial("tcp", addrs[0])
		require.NoError(t, err)
		greeting := binary.BigEndian.AppendUint32(nil, 0x5CED6E01)
		greeting = append(append(greeting, meet.Version, byte(wire.LaneOps), 0, 0), id[:]...)
		greeting = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(greeting, 1), 2)
		frame := append(binary.BigEndian.AppendUint16(nil, 0x5C9D), byte(wire.FrameSlot))
		_, err = conn.Write(append(append(greeting, proof...), append(frame, make([]byte, 29)...)...))
		require.NoError(t, err)
		until(t, tr, s, func() bool { return tr.Stats().Rejected == before+1 })
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		_, err = conn.Read(make([]byte, 1))
		require.Error(t, err)
		require.NoError(t, conn.Close())
	}
	require.Equal(t, 1, s.fragments)
	put := &puts{}
	trs[1].Put(0, &wire.Frame{Header: h, Body: []byte("well")})
	until(t, tr, put, func() bool { trs[1].Poll(&tally{}); return put.frames == 1 })
}

// puts is a sink that counts puts.
type puts struct {
	tally
	frames int
}

func (p *puts) Body(h *wire.Header) ([]byte, wire.Verdict) { return make([]byte, h.Len), wire.Accept }
func (p *puts) Arrived(*wire.Header, []byte)               { p.frames++ }
