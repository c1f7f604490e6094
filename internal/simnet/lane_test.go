package simnet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// taker is a sink that takes frames until it is told to hold a lane's frames.
type taker struct {
	holds [wire.Lanes]bool
	got   []uint64 // their numbers
	buf   []byte
}

func (k *taker) Body(h *wire.Header) ([]byte, wire.Verdict) {
	if k.holds[h.Lane] {
		return nil, wire.Hold
	}
	if len(k.buf) != h.Len {
		k.buf = make([]byte, h.Len)
	}
	return k.buf, wire.Accept
}

func (k *taker) Arrived(h *wire.Header, body []byte) {
	for i := range body {
		if body[i] != byte(h.Seq) {
			panic("a frame has another's bytes")
		}
	}
	k.got = append(k.got, h.Seq)
}

func (*taker) Fragment(*wire.Header, int, []byte) wire.Verdict { return wire.Drop }
func (*taker) Ended(int, wire.End, error)                      {}

// pair returns a network of two processes that do nothing by themselves.
func pair(t *testing.T, n Net, loses func(*packet) bool) *world {
	sc := &Scenario{Ranks: 2, Net: n}
	require.NoError(t, sc.check())
	w := &world{sc: sc, net: n.filled(), comm: sc.Comm.filled(), now: 1, tamper: tamper{loses: loses}}
	require.NoError(t, w.build())
	w.events = events{}
	for _, p := range w.procs {
		p.state = computing
	}
	return w
}

// quiesce runs all pending events.
func (w *world) quiesce() {
	for w.events.queue.Len() > 0 {
		e := w.events.pop()
		w.now = e.at
		w.happen(&e)
		w.procs[0].handAll()
	}
}

// put puts frame seq of so many bytes from rank 0 to rank 1.
func (w *world) put(l wire.Lane, seq uint64, bytes int, unsent *int) {
	*unsent++
	body := make([]byte, bytes)
	for i := range body {
		body[i] = byte(seq)
	}
	w.procs[0].Put(1, &wire.Frame{
		Header: wire.Header{Kind: wire.FrameSlot, Lane: l, Seq: seq, Len: bytes}, Body: body, Unsent: unsent,
	})
	w.procs[0].handAll()
}

func (w *world) read(l wire.Lane, k *taker) {
	w.procs[0].out[index(1, l)].read(w, k)
}

var quick = Link{Rate: 1e9, Delay: 10 * Microsecond}

// Frames arrive in order though segments of the first are lost again and again. Each loss costs the
// time until the segment is sent again.
func TestLaneKeepsItsOrder(t *testing.T) {
	lost := 0
	w := pair(t, Net{Up: quick, Down: quick, Segment: 100, Resend: 5 * Millisecond}, func(p *packet) bool {
		if p.num == 1 && lost < 3 {
			lost++
			return true
		}
		return false
	})
	unsent, k := 0, &taker{}
	for seq := range uint64(5) {
		w.put(wire.LaneOps, seq, 250, &unsent)
	}
	w.quiesce()
	w.read(wire.LaneOps, k)
	require.Equal(t, []uint64{0, 1, 2, 3, 4}, k.got)
	require.Zero(t, unsent)
	require.Greater(t, w.now, (1+2+4)*5*Millisecond)
	require.Less(t, w.now, (1+2+4)*5*Millisecond+Millisecond)
}

// A held frame holds the frames behind it, and in the end the sender. The other lane continues.
func TestHoldReachesTheSender(t *testing.T) {
	w := pair(t, Net{Up: quick, Down: quick, Buffer: 4 << 10, Flight: 2 << 10}, nil)
	unsent, control, k := 0, 0, &taker{}
	k.holds[wire.LaneOps] = true
	for seq := range uint64(20) {
		w.put(wire.LaneOps, seq, 1000, &unsent)
	}
	w.put(wire.LaneControl, 99, 10, &control)
	w.quiesce()
	w.read(wire.LaneOps, k)
	w.read(wire.LaneControl, k)
	require.Equal(t, []uint64{99}, k.got)
	require.Zero(t, control)
	l := w.procs[0].out[index(1, wire.LaneOps)]
	require.LessOrEqual(t, l.unread, 4<<10)
	require.LessOrEqual(t, l.unacked, 4<<10+1448+frameHead)
	require.Greater(t, unsent, 10, "what neither system has room for is with the sender")

	k.holds[wire.LaneOps] = false
	for range 20 {
		w.read(wire.LaneOps, k)
		w.quiesce()
	}
	require.Len(t, k.got, 21)
	require.Zero(t, unsent)
}

// The window limits the bytes in flight, and losses halve it.
func TestWindowOfALane(t *testing.T) {
	most, narrow, lost := 0, 8<<10, false
	w := pair(t, Net{Up: quick, Down: quick, Flight: 8 << 10}, func(p *packet) bool {
		l := p.lane
		most, narrow = max(most, l.fly), min(narrow, l.wide)
		if !lost && p.num == 20 {
			lost = true
			return true
		}
		return false
	})
	unsent := 0
	for seq := range uint64(100) {
		w.put(wire.LaneOps, seq, 1000, &unsent)
	}
	w.quiesce()
	require.Greater(t, most, 6<<10)
	require.LessOrEqual(t, most, 8<<10)
	require.Less(t, narrow, 5<<10)
	require.Greater(t, w.procs[0].out[index(1, wire.LaneOps)].wide, 6<<10, "it grows again")
}

// A rank that confirms nothing is given up.
func TestSilenceIsNoticed(t *testing.T) {
	w := pair(t, Net{Up: quick, Down: quick, GiveUp: Second}, func(*packet) bool { return true })
	unsent := 0
	w.put(wire.LaneOps, 0, 10, &unsent)
	w.quiesce()
	require.Equal(t, []loss{{1, wire.Broken, errSilent}}, w.procs[0].lost)
	require.Greater(t, w.now, Second)
}
