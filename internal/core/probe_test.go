package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// Rank 0 has sent its chunk and left in good order, and rank 1 has died with the chunk. No
// connection tells rank 2, so it finds out only by asking rank 1.
func TestProbeGoesPastThoseThatHaveLeft(t *testing.T) {
	net := &probed{}
	c := New(Config{Rank: 2, Size: 4, Epoch: 1, Repair: 1000, Stall: 1000, PublishWindow: 1, Overlay: nowhere{}}, net)
	c.Begin(planOf(t, "bcast/chain", schedule.Params{Ranks: 4, Chunks: 1}, 2), InPlace(make([]byte, 8)))
	probe := Alarm{Kind: AlarmProbe, Seq: 1}
	c.Normalize()
	c.Ring(probe)
	c.Ended(3, wire.Closed, nil)
	c.Ring(probe)
	c.Ended(0, wire.Closed, nil)
	c.Ring(probe)
	c.Ended(1, wire.Closed, nil)
	c.Ring(probe)
	require.NoError(t, c.Err())
	require.Equal(t, []int{3, 0, 1}, net.to, "nobody is asked when all have left")
}

// A rank that has returned from an operation passes the question on to the next one, as often as the
// question says: a rank behind it may never have entered.
func TestProbeIsPassedOn(t *testing.T) {
	for reach := range uint32(3) {
		net := &recorder{}
		c := New(Config{Rank: 0, Size: 4, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, net)
		c.Begin(planOf(t, "bcast/linear", schedule.Params{Ranks: 4, Chunks: 1}, 0), InPlace(make([]byte, 8)))
		c.End(1)
		net.puts = nil
		h := wire.Header{Kind: wire.FrameProbe, Lane: wire.LaneControl, Epoch: 1, Seq: 1, Print: c.ops.print, Arg: reach, From: 3}
		c.take(h)
		if reach == 0 {
			require.Empty(t, net.puts)
			continue
		}
		h.From, h.Arg = 0, reach-1
		require.Equal(t, []sent{{1, h, ""}}, net.puts)
	}
}

// probed records the ranks that a core has put something to.
type probed struct {
	discard
	to []int
}

func (p *probed) Put(to int, f *wire.Frame) {
	p.drop(f)
	p.to = append(p.to, to)
}
