package simnet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// A token bucket lets its bytes pass at once after a rest, and no more than the rate on average.
func TestBurstOfALink(t *testing.T) {
	p := pipe{Link: Link{Rate: 8e9, Burst: 2000, Queue: 2500}} // a byte a nanosecond
	send := func(now Time, want Time, fits bool) {
		t.Helper()
		left, ok := p.Send(now, 1000, 1)
		require.Equal(t, fits, ok)
		require.Equal(t, want, left)
	}
	send(10000, 10000, true)
	send(10000, 10000, true)
	send(10000, 11000, true)
	send(10000, 12000, true)
	send(10000, 0, false)
	send(13000, 13000, true) // half of the bucket is full again
	send(13000, 14000, true)
	require.Equal(t, 2000, p.Count().Deepest)
}

// Confirmations use the links of the way back, and show which packets they have overtaken: a loss
// costs about a round trip.
func TestConfirmationsOnTheWire(t *testing.T) {
	const packets = 20
	lost := false
	w := pair(t, Net{Up: quick, Down: quick, Segment: 100, Confirm: 66, Resend: 50 * Millisecond}, func(p *packet) bool {
		if !lost && !p.confirms && p.num == 3 {
			lost = true
			return true
		}
		return false
	})
	unsent, k := 0, &taker{}
	w.put(wire.LaneOps, 7, packets*100, &unsent)
	w.quiesce()
	w.read(wire.LaneOps, k)
	require.Equal(t, []uint64{7}, k.got)
	require.True(t, lost)
	l := w.procs[0].out[index(1, wire.LaneOps)]
	require.Zero(t, l.unacked)
	require.Equal(t, LinkCount{Packets: packets, Bytes: packets * 66, Deepest: w.hosts[1].up.Count().Deepest, Busy: w.hosts[1].up.Count().Busy},
		w.hosts[1].up.Count())
	require.Less(t, l.used, Millisecond, "the lost packet was sent again at once")
}

// Confirmations may be lost too, even the last one.
func TestLostConfirmations(t *testing.T) {
	n := 0
	w := pair(t, Net{Up: quick, Down: quick, Confirm: 66, Resend: 5 * Millisecond}, func(p *packet) bool {
		if p.confirms {
			n++
		}
		return p.confirms && n%2 == 0
	})
	unsent, k := 0, &taker{}
	for seq := range uint64(10) {
		w.put(wire.LaneOps, seq, 5000, &unsent)
	}
	w.quiesce()
	w.read(wire.LaneOps, k)
	require.Len(t, k.got, 10)
	require.Zero(t, unsent)
	require.True(t, w.procs[0].out[index(1, wire.LaneOps)].idle())
}

// A lane begins with its first window, which confirmations widen. It begins so again after a rest.
func TestWindowAfterARest(t *testing.T) {
	const first, flight = 3000, 24000
	var most int
	w := pair(t, Net{Up: quick, Down: quick, First: first, Flight: flight, Resend: 5 * Millisecond}, func(p *packet) bool {
		most = max(most, p.lane.fly)
		return false
	})
	unsent, k := 0, &taker{}
	l := func() *lane { return w.procs[0].out[index(1, wire.LaneOps)] }
	w.put(wire.LaneOps, 1, 2*first, &unsent)
	require.LessOrEqual(t, l().fly, first)
	w.quiesce()
	w.put(wire.LaneOps, 2, 100000, &unsent)
	w.quiesce()
	require.Greater(t, most, flight/2)
	require.LessOrEqual(t, most, flight)
	require.Equal(t, flight, l().wide)
	w.now += 4 * Millisecond
	w.put(wire.LaneOps, 3, 1000, &unsent)
	require.Equal(t, flight, l().wide, "a short rest")
	w.quiesce()
	w.now += 6 * Millisecond
	w.put(wire.LaneOps, 4, 1000, &unsent)
	require.Equal(t, first, l().wide)
	w.quiesce()
	w.read(wire.LaneOps, k)
	require.Equal(t, []uint64{1, 2, 3, 4}, k.got)
}

// Long frames wait while Turn bytes are in flight to others. Short frames do not wait.
func TestTurnsOfLanes(t *testing.T) {
	const turn = 20000
	sc := &Scenario{Ranks: 4, Net: Net{Up: quick, Down: quick, Turn: turn}}
	w := &world{sc: sc, net: sc.Net.filled(), comm: sc.Comm.filled(), now: 1}
	require.NoError(t, w.build())
	w.events = events{}
	unsent, most := 0, 0
	for _, p := range w.procs {
		p.state = computing
		for k := range p.out {
			if rank := k / int(wire.Lanes); p == w.procs[0] && rank > 0 {
				p.laneTo(rank, wire.Lane(k%int(wire.Lanes))).opened = true
			}
		}
	}
	put := func(rank, bytes int) {
		unsent++
		w.procs[0].Put(rank, &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Len: bytes}, Body: make([]byte, bytes), Unsent: &unsent})
	}
	flying := func() (bytes int) {
		for _, l := range w.procs[0].out {
			if l != nil {
				bytes += l.fly
			}
		}
		return bytes
	}
	w.events = events{}
	for rank := 1; rank < 4; rank++ {
		put(rank, 3*turn)
	}
	put(2, 100)
	for w.procs[0].handAll(); w.events.queue.Len() > 0; w.procs[0].handAll() {
		e := w.events.pop()
		w.now = e.at
		w.happen(&e)
		most = max(most, flying())
	}
	require.Zero(t, unsent)
	require.Greater(t, most, turn/2)
	require.Less(t, most, turn+3000)
}

// Shared cores do one piece of work at a time.
func TestCoresAreShared(t *testing.T) {
	took := func(cores int) Time {
		sc := &Scenario{
			Ranks: 9, Net: Net{Up: quick, Down: quick, Cost: Millisecond, Cores: cores, Ordered: true},
			Script: []Op{{Kind: OpBcast, Algorithm: "bcast/linear", Bytes: 10}},
		}
		return runs(t, sc).took(0, 0)
	}
	require.Less(t, took(0), 10*Millisecond)
	require.Greater(t, took(2), 8*Millisecond/2)
	require.Greater(t, took(1), 8*Millisecond)
}

// If losses do not narrow windows, a single connection with more bytes in flight than a link's
// queue holds delays a pipeline by the length of that queue: everything behind a hole waits for it.
// With fewer bytes in flight it takes one copy.
func TestWindowBeyondTheQueueDelaysAPipeline(t *testing.T) {
	const bytes, rate, queue = 512 << 10, 100e6, 128 << 10
	took := func(flight int) Time {
		sc := lan("bcast/chain", rate, 15, bytes)
		link := Link{Rate: rate, Queue: queue, Burst: 8 << 10, Delay: 25 * Microsecond}
		sc.Net.Up, sc.Net.Down = link, link
		sc.Net.First, sc.Net.Flight, sc.Net.Buffer, sc.Net.Confirm, sc.Net.Steady = 14480, flight, 2<<20, 33, true
		return runs(t, sc).took(1, 0)
	}
	length := (&Link{Rate: rate}).Serialize(queue)
	one := took(queue / 2)
	require.Less(t, one, onWire(bytes, rate)*107/100)
	require.Greater(t, took(2*queue), one+length*8/10)
}
