package core

import (
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/ether"
	"github.com/schedgen/schedgen/runtime/wire"
)

// lanes is cores and the frames between them.
type lanes struct {
	*ether.Ether
	cores []*Core
}

func newLanes(size int) *lanes { return &lanes{ether.New(size), make([]*Core, size)} }

// net returns one rank's Net, which loses multicasts.
func (l *lanes) net(rank int) Net { return ether.Net{Ether: l.Ether, Rank: rank} }

func gone(f *wire.Frame) {
	f.Release()
}

// deliver delivers the first frame of one lane with frames, and reports whether it has.
func (l *lanes) deliver(t require.TestingT, choice int) (moved bool) {
	busy := l.Busy()
	return len(busy) > 0 && l.deliverIn(t, busy[choice%len(busy)])
}

// deliverEach delivers the first frame of each lane.
func (l *lanes) deliverEach(t require.TestingT) (moved bool) {
	for _, i := range l.Busy() {
		moved = l.deliverIn(t, i) || moved
	}
	return moved
}

// deliverAll delivers all frames.
func (l *lanes) deliverAll(t require.TestingT) (moved bool) {
	for again := true; again; moved = moved || again {
		again = false
		for _, i := range l.Busy() {
			for len(l.Lanes[i]) > 0 && l.deliverIn(t, i) {
				again = true
			}
		}
	}
	return moved
}

// deliverIn delivers the first frame of Lanes[i]. Frames that are held stay in their lanes, as do
// those for a rank without a core.
func (l *lanes) deliverIn(t require.TestingT, i int) (moved bool) {
	f := l.Lanes[i][0]
	_, to := l.Ends(i)
	c := l.cores[to]
	if c == nil {
		return false
	}
	dst, v := c.Body(&f.Header)
	switch v {
	case wire.Hold:
		require.NotEqual(t, wire.LaneControl, f.Lane, "control is never held")
		return false
	case wire.Accept:
		require.Equal(t, len(f.Body), copy(dst, f.Body))
		c.Arrived(&f.Header, dst)
	}
	l.Lanes[i] = l.Lanes[i][1:]
	return true
}
