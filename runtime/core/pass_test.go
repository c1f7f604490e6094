package core

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/core/internal/moment"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// asking keeps the requests of a core: the rank that is asked, and the units.
type asking struct {
	discard
	to    []int
	units [][]int
	next  int // index of the first request without an answer
}

func (a *asking) Datagram(to int, f *wire.Frame) {
	var units []int
	for b := f.Body; len(b) > 0; b = b[8:] {
		for i := range binary.BigEndian.Uint32(b[4:]) {
			units = append(units, int(binary.BigEndian.Uint32(b)+i))
		}
	}
	a.to, a.units = append(a.to, to), append(a.units, units)
	a.drop(f)
}

// lacking returns rank 2 of 4. Of the multicast of rank 0, 4 chunks of 100 fragments, it has heard
// only the last chunk. lacking also returns its requests at time 1 and later.
func lacking(t *testing.T) (*recovery, *op, *asking) {
	net := &asking{}
	c := New(Config{
		Rank: 2, Size: 4, Epoch: 1, Repair: 20e6, Overlay: nowhere{}, PublishWindow: 1,
		Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 1000},
	}, net)
	c.Begin(planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 4, Chunks: 4}, 2), InPlace(make([]byte, 400e3)))
	o := c.ops.open(1)
	c.rec.layout(o)
	c.rec.hear(o, 3)
	c.rec.checkGaps(o, 1)
	return &c.rec, o, net
}

// answer delivers the fragments of the next request, except for the lost ones.
func (a *asking) answer(rc *recovery, o *op, lost func(i int) bool) {
	for _, i := range a.units[a.next] {
		if k := o.frags.chunkOf(i); !lost(i) && !o.frags.has(i) {
			o.frags.add(k, (i-int(o.frags.first[k]))*o.frags.size)
			o.lost.gaps.pass.arrived(i, rc.looseParts())
		}
	}
	a.next++
}

func nothing(int) bool { return false }

// All missing fragments are asked for once, as fast as they arrive, from one rank.
func TestPassGoesOn(t *testing.T) {
	rc, o, net := lacking(t)
	for now := Time(2); len(o.missing()) > 0; now++ {
		require.Len(t, net.units[net.next:], min(underWay+1, (len(o.missing())-1)/rc.looseParts()+1), "so many requests are on their way")
		net.answer(rc, o, nothing)
		rc.checkGaps(o, now)
	}
	want := 0
	for n, units := range net.units {
		require.Equal(t, int(o.plan.recovery.Ask[0]), net.to[n])
		require.LessOrEqual(t, len(units), rc.looseParts())
		for _, i := range units {
			require.Equal(t, want, i)
			want++
		}
	}
	require.Equal(t, 400, want)
}

// missing returns the fragments that have not arrived.
func (o *op) missing() (list []int) {
	for i := range o.frags.count() {
		if !o.frags.has(i) {
			list = append(list, i)
		}
	}
	return list
}

// Lost answers do not stop a pass. The next pass asks for them, and asks another rank.
func TestPassOutlivesLosses(t *testing.T) {
	rc, o, net := lacking(t)
	lose := func(i int) bool { return i%3 == 0 && net.to[net.next] == net.to[0] }
	for now := Time(2); len(o.missing()) > 0; now += 1e6 {
		require.Less(t, now, Time(1e9))
		for net.next < len(net.units) {
			net.answer(rc, o, lose)
		}
		o.lost.gaps.quiet = never
		rc.checkGaps(o, now)
	}
	require.NotEqual(t, net.to[0], net.to[len(net.to)-1])
	asked := 0
	for _, units := range net.units {
		asked += len(units)
	}
	require.LessOrEqual(t, asked, 400+2*134, "what has come is not asked for again")
}

// A rank that does not answer is skipped, and a rank that gets no answers asks less and less often.
func TestPassInVain(t *testing.T) {
	rc, o, net := lacking(t)
	p := &o.lost.gaps.pass
	last := Time(1)
	waits := []Time{}
	for range 20 {
		require.NotZero(t, p.again)
		waits = append(waits, p.again-last)
		last = p.again
		o.lost.gaps.quiet = never
		rc.checkGaps(o, last)
	}
	ask := o.plan.recovery.Ask
	require.Equal(t, int(ask[0]), net.to[0])
	require.Equal(t, int(ask[len(ask)-1]), net.to[len(net.to)-1])
	require.IsNonDecreasing(t, waits)
	require.LessOrEqual(t, waits[len(waits)-1], moment.Longest(rc.Repair)<<maxShift)
	require.Greater(t, waits[len(waits)-1], 8*waits[0])
}

// Requests in silence ask for little by put at first, then for twice as much each time, until
// something arrives.
func TestPutsInSilence(t *testing.T) {
	rc, o, _ := lacking(t)
	o.n, o.chunks = 1<<30, 1024
	g := &o.lost.gaps
	for tries, want := range []int{1, 1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024} {
		g.tries = tries
		require.Equal(t, want, rc.putLimit(o), "try %d", tries)
	}
	g.tries = 1000
	require.GreaterOrEqual(t, rc.putLimit(o), o.chunks)
	rc.Caps.Direct, g.tries = false, 0
	require.Equal(t, o.chunks, rc.putLimit(o), "nothing else is asked for")
}

// The last rank to ask mostly has everything, and is asked again. But it may have returned and have
// nothing any more, so others are asked in turn when nothing arrives for long. The root is spared
// once while its multicast goes on.
func TestWhoIsAskedInTurn(t *testing.T) {
	_, o, _ := lacking(t)
	ask := o.plan.recovery.Ask
	require.Equal(t, []int32{1, 0}, ask)
	turns := func() (ranks []int) {
		for turn := range 10 {
			ranks = append(ranks, o.asked(turn))
		}
		return ranks
	}
	require.Equal(t, []int{1, 0, 0, 0, 0, 0, 0, 1, 0, 1}, turns())
	o.lost.gaps.top = 2
	require.Equal(t, []int{1, 1, 0, 0, 0, 0, 0, 1, 0, 1}, turns())
}
