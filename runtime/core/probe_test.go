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

// probed records the ranks that a core has put something to.
type probed struct {
	discard
	to []int
}

func (p *probed) Put(to int, f *wire.Frame) {
	p.drop(f)
	p.to = append(p.to, to)
}
