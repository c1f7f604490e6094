package core

import (
	"bytes"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// lanes carry puts between cores, in order, one step at a time.
type lanes struct {
	cores []*Core
	queue map[[3]int][]wire.Frame // by sender, receiver and lane
	order [][3]int                // used keys, in order of use
}

func newLanes(size int) *lanes {
	return &lanes{cores: make([]*Core, size), queue: map[[3]int][]wire.Frame{}}
}

// laneNet is one rank's Net into the lanes. It loses multicasts.
type laneNet struct {
	*lanes
	rank int
}

func (l *lanes) net(rank int) Net { return laneNet{l, rank} }

func (n laneNet) Put(to int, f *wire.Frame) {
	at := [3]int{n.rank, to, int(f.Lane)}
	if _, used := n.queue[at]; !used {
		n.order = append(n.order, at)
		n.lanes.order = n.order
	}
	copied := *f
	copied.Body, copied.From = bytes.Clone(f.Body), n.rank
	n.queue[at] = append(n.queue[at], copied)
	gone(f)
}

func (n laneNet) Mcast(f *wire.Frame)           { gone(f) }
func (n laneNet) Datagram(_ int, f *wire.Frame) { gone(f) }

func gone(f *wire.Frame) {
	f.Release()
}

// deliver delivers the first frame of one lane, and reports whether it has. Frames that are held
// stay in their lanes, as do those for a rank without a core.
func (l *lanes) deliver(t require.TestingT, choice int) (moved bool) {
	if len(l.order) == 0 {
		return false
	}
	at := l.order[choice%len(l.order)]
	c := l.cores[at[1]]
	if len(l.queue[at]) == 0 || c == nil {
		return false
	}
	f := l.queue[at][0]
	dst, v := c.Body(&f.Header)
	switch v {
	case wire.Hold:
		require.NotEqual(t, int(wire.LaneControl), at[2], "control is never held")
		return false
	case wire.Accept:
		require.Equal(t, len(f.Body), copy(dst, f.Body))
		c.Arrived(&f.Header, dst)
	}
	l.queue[at] = l.queue[at][1:]
	return true
}
