package core

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// questioner keeps the control frames of a core, and says how much of the puts has been taken.
type questioner struct {
	discard
	kinds []wire.FrameKind
	to    []int
	about []int // ranks that aborts are about
	taken uint64
}

func (q *questioner) Put(to int, f *wire.Frame) {
	if f.Lane == wire.LaneControl {
		q.kinds, q.to, q.about = append(q.kinds, f.Kind), append(q.to, to), append(q.about, int(f.Slot))
	}
	q.drop(f)
}

func (q *questioner) Taken(int) uint64 { return q.taken }

// asks returns the ranks that the core has asked for signs of life.
func (q *questioner) asks() (to []int) {
	for i, k := range q.kinds {
		if k == wire.FrameWatch {
			to = append(to, q.to[i])
		}
	}
	return to
}

// watching is rank 1 of 4 in a barrier that does not move, and the time.
func watching(t *testing.T) (*Core, *questioner, Time) {
	net := &questioner{}
	c := New(Config{Rank: 1, Size: 4, Epoch: 1, Repair: 20e6, Stall: 250e6, Silence: 8e9, PublishWindow: 1, Overlay: nowhere{}}, net)
	c.Begin(planOf(t, "barrier/dissemination", schedule.Params{Ranks: 4}, 1), InPlace(nil))
	c.Tick(1)
	require.False(t, c.watch.Active(), "nobody is asked while all goes well")
	c.Tick(300e6)
	require.Equal(t, []int{2}, net.asks())
	return c, net, 300e6
}

func control(from int, k wire.FrameKind) *wire.Header {
	return &wire.Header{Kind: k, Lane: wire.LaneControl, Epoch: 1, From: from}
}

// goOn ticks c whenever it is due, until end.
func goOn(c *Core, now, end Time, each func()) Time {
	for now < end && c.Err() == nil {
		each()
		due, _ := c.Due()
		now = min(max(now+1, due), end)
		c.Tick(now)
	}
	return now
}

func TestSilentRankIsLost(t *testing.T) {
	c, net, start := watching(t)
	now := goOn(c, start, 3600e9, func() {})
	require.Equal(t, start+8e9+2e9+1, now, "the others are silent, too: rank 3 is asked after an interval, rank 0 after another one")
	var lost *LostError
	require.ErrorAs(t, c.Err(), &lost)
	require.Equal(t, []int{0, 2, 3}, lost.Ranks)
	require.ErrorIs(t, c.Err(), ErrPeerLost)
	require.ErrorContains(t, c.Err(), "rank 2: rank lost: it has given no sign of life for 8 s")
	require.ErrorIs(t, c.Err(), ErrPeerSilent)
	require.ErrorIs(t, c.Err(), ErrPeerLost)
	heard := c.env.reasonOf(c.Err())
	require.ErrorIs(t, c.env.errorOf(&heard), ErrPeerSilent, "at all other ranks, too")
	require.ErrorIs(t, c.env.errorOf(&heard), ErrPeerLost)
	for _, rank := range lost.Ranks {
		asks := slices.DeleteFunc(net.asks(), func(to int) bool { return to != rank })
		require.Len(t, asks, 8, "rank %d, once in a while", rank)
	}
	require.True(t, slices.ContainsFunc(net.kinds, func(k wire.FrameKind) bool { return k == wire.FrameAbort }))
	for _, rank := range lost.Ranks {
		told := false
		for i, k := range net.kinds {
			told = told || k == wire.FrameAbort && net.to[i] == rank && net.about[i] == rank
		}
		require.True(t, told, "the silent one is told, too, that it is lost: rank %d", rank)
	}
}

func TestSignsOfLife(t *testing.T) {
	for name, sign := range map[string]func(c *Core, net *questioner){
		"an answer":                   func(c *Core, _ *questioner) { c.Body(control(2, wire.FrameAlive)) },
		"a datagram":                  func(c *Core, _ *questioner) { c.Fragment(&wire.Header{Epoch: 1, Seq: 1, From: 2}, 0, nil) },
		"a put that its system takes": func(_ *Core, net *questioner) { net.taken++ },
	} {
		t.Run(name, func(t *testing.T) {
			c, net, start := watching(t)
			end := goOn(c, start, 100e9, func() { sign(c, net) })
			require.NoError(t, c.Err())
			goOn(c, end, 200e9, func() { c.Body(control(3, wire.FrameAlive)) })
			require.ErrorIs(t, c.Err(), ErrPeerLost, "others do not count")
		})
	}
}

// A held frame is offered again and again, and is no sign of life.
func TestHeldIsNoSignOfLife(t *testing.T) {
	c, _, start := watching(t)
	goOn(c, start, 3600e9, func() {
		v := c.Fragment(&wire.Header{Epoch: 1, Seq: 9, From: 2}, 0, nil)
		require.True(t, v == wire.Hold || c.fate.err != nil)
	})
	require.ErrorIs(t, c.Err(), ErrPeerSilent)
}

// datagrams counts the questions that a core asks by datagram.
type datagrams struct {
	questioner
	n int
}

func (d *datagrams) Datagram(to int, f *wire.Frame) {
	if f.Kind == wire.FrameWatch {
		d.n++
	}
	d.questioner.Datagram(to, f)
}

// If datagrams reach a rank, all questions after the first also go by datagram: a lost put may be
// sent again too late.
func TestQuestionsByDatagram(t *testing.T) {
	net := &datagrams{}
	c := New(Config{Rank: 3, Size: 4, Epoch: 1, Repair: 20e6, Stall: 250e6, Silence: 8e9, PublishWindow: 1, Overlay: nowhere{}, Caps: wire.Caps{Direct: true}}, net)
	c.Begin(planOf(t, "barrier/dissemination", schedule.Params{Ranks: 4}, 1), InPlace(nil))
	now := goOn(c, 1, 20e9, func() { c.Body(control(0, wire.FrameAlive)) })
	require.NoError(t, c.Err())
	require.Zero(t, net.n, "each was answered")
	goOn(c, now, 100e9, func() {})
	require.ErrorIs(t, c.Err(), ErrPeerSilent)
	require.Equal(t, 3*(8-1), net.n, "of each of the others")
}

// A rank that was stopped itself has not taken the frames that arrived meanwhile, and calls no rank
// silent.
func TestOwnPauseIsNoSilence(t *testing.T) {
	c, _, now := watching(t)
	for range 10 {
		now += 60e9
		c.Tick(now)
		require.NoError(t, c.Err())
		c.Body(control(2, wire.FrameAlive))
	}
	goOn(c, now, now+100e9, func() {})
	require.ErrorIs(t, c.Err(), ErrPeerLost)
}

// A rank that is asked answers, and asks the next one, but not for ever.
func TestQuestionGoesRound(t *testing.T) {
	net := &questioner{}
	c := New(Config{Rank: 3, Size: 4, Epoch: 1, Silence: 8e9, PublishWindow: 1, Overlay: nowhere{}}, net)
	ask := control(2, wire.FrameWatch)
	_, v := c.Body(ask)
	require.Equal(t, wire.Accept, v)
	c.Arrived(ask, nil)
	require.Equal(t, []wire.FrameKind{wire.FrameAlive}, net.kinds)
	require.True(t, c.Waits())
	now := goOn(c, 1, 20e9, func() {})
	require.NoError(t, c.Err())
	require.Equal(t, []int{0, 0, 1, 0, 1, 2}, net.asks(), "and those behind it, since it does not answer")
	require.False(t, c.Waits())
	_, limited := c.Due()
	require.False(t, limited)

	c.Ended(0, wire.Closed, nil)
	c.Arrived(ask, nil)
	c.Tick(now + 1)
	require.Equal(t, []int{1}, net.asks()[6:], "a rank that has left is passed over")
}

// A rank whose target answers again asks no other rank any more.
func TestAnswerEndsTheSearch(t *testing.T) {
	c, net, start := watching(t)
	now := goOn(c, start, start+3e9, func() {})
	require.Len(t, c.watch.Targets(), 3)
	answer := func() { c.Body(control(2, wire.FrameAlive)) }
	now = goOn(c, now, now+3e9, answer)
	asked := len(net.asks())
	goOn(c, now, now+10e9, answer)
	require.NoError(t, c.Err())
	require.Equal(t, slices.Repeat([]int{2}, 10), net.asks()[asked:])
}

// A waiting rank is not kept busy if all ranks that it might ask have left.
func TestNoRankToWatch(t *testing.T) {
	c := New(Config{Rank: 3, Size: 4, Epoch: 1, Silence: 8e9, PublishWindow: 1, Overlay: nowhere{}}, &questioner{})
	for rank := range 3 {
		c.Ended(rank, wire.Closed, nil)
	}
	require.NoError(t, c.Listen())
	c.Tick(1)
	require.NoError(t, c.Err())
	_, limited := c.Due()
	require.False(t, limited)
}

// Without Silence no rank is asked for anything.
func TestNoSilence(t *testing.T) {
	net := &questioner{}
	c := New(Config{Rank: 3, Size: 4, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, net)
	c.Arrived(control(2, wire.FrameWatch), nil)
	require.False(t, c.Waits())
	require.Equal(t, []wire.FrameKind{wire.FrameAlive}, net.kinds)
}
