package core

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

var errAway = errors.New("away")

// many is a number of ranks for which not every rank says goodbye to every other.
const many = 100

// After calls have failed, a rank that takes no connections counts as having left, unless it would
// have said goodbye or others find that it is lost.
func TestRefusingRankMayHaveLeft(t *testing.T) {
	c := New(Config{Size: many, Epoch: 1, Repair: 20e6, Stall: 250e6, Silence: 8e9, PublishWindow: 1, Overlay: nowhere{}}, &questioner{})
	c.Ended(25, wire.Broken, errAway)
	require.ErrorIs(t, c.fate.err, ErrPeerLost)
	c.Ended(26, wire.Refused, errAway)
	goOn(c, 2, 3e9, func() {})
	require.True(t, c.members.Gone(26))
	require.False(t, c.members.Lost(26))
}

// If a rank that would have said goodbye to this rank has left according to others, this rank asks
// it.
func TestDoubtsReportsOfOthers(t *testing.T) {
	net := &questioner{}
	c := New(Config{Size: many, Epoch: 1, Repair: 20e6, Stall: 250e6, Silence: 8e9, PublishWindow: 1, Overlay: nowhere{}}, net)
	f := callOf(many, 0, []int{3, 50, 51}, []int{50})
	c.Arrived(&f.Header, f.Body)
	require.ErrorIs(t, c.fate.err, ErrPeerLost)
	require.True(t, c.members.Gone(51), "it need not have heard that")
	require.False(t, c.members.Gone(50), "that it is lost is for the agreement to say")
	require.Equal(t, []int{3}, c.agree.Doubted((*facts)(c)))
	goOn(c, 1, 3e9, func() { c.Tick(1) })
	require.Contains(t, net.asks(), 3)
	c.Arrived(control(3, wire.FrameLeave), nil)
	require.Empty(t, c.agree.Doubted((*facts)(c)))
}

// A rank that has closed in good order and has not said goodbye yet tells a rank that asks no reason
// to fail: the goodbye is the answer.
func TestGoodbyeAnswersWhoAskedMeanwhile(t *testing.T) {
	for _, kind := range []wire.FrameKind{wire.FrameProbe, wire.FrameListen, wire.FrameFlush, wire.FrameWatch} {
		net := &questioner{}
		c := New(Config{Size: many, Epoch: 1, Repair: 20e6, Stall: 250e6, Silence: 8e9, PublishWindow: 1, Overlay: nowhere{}}, net)
		require.True(t, c.Close(errAway))
		const asker = 50
		for range 2 {
			if h := control(asker, kind); kind == wire.FrameWatch {
				c.Arrived(h, nil)
			} else {
				_, verdict := c.Body(h)
				require.Equal(t, wire.Drop, verdict)
			}
		}
		require.NotContains(t, net.kinds, wire.FrameAbort)
		c.Goodbye(true)
		require.NotContains(t, net.kinds, wire.FrameAbort)
		told := 0
		for i, to := range net.to {
			if to == asker && net.kinds[i] == wire.FrameLeave {
				told++
			}
		}
		require.Equal(t, 1, told, "frame kind %d", kind)
	}
}

// The connections of a rank that has said goodbye break, so its last frames may be lost. It counts
// as lost if an operation that both ranks have entered is open here. If not, it has left, but after
// the last operation that has ended here: later ones may wait for what is lost.
func TestDeathBehindAGoodbye(t *testing.T) {
	for _, of := range []struct {
		name  string
		begun int    // operations of this rank
		ended int    // of these
		last  uint64 // the last operation of the other rank
		lost  bool   // the other rank is lost
	}{
		{"inside the last", 1, 0, 1, true},
		{"inside an earlier one", 1, 0, 5, true},
		{"inside the second one", 2, 1, 2, true},
		{"before the first", 0, 0, 0, false},
		{"after the last", 1, 1, 1, false},
		{"before the last", 1, 1, 3, false},
		{"without a last one", 0, 0, presence.Unknown, false},
	} {
		t.Run(of.name, func(t *testing.T) {
			c := New(Config{Rank: 0, Size: 4, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, &questioner{})
			bcast := planOf(t, "bcast/linear", schedule.Params{Ranks: 4, Chunks: 1}, 0)
			for seq := range uint64(of.begun) {
				c.Begin(bcast, InPlace(make([]byte, 8)))
				if int(seq) < of.ended {
					c.End(seq + 1)
				}
			}
			h := control(2, wire.FrameLeave)
			h.Seq = of.last
			c.Arrived(h, nil)
			require.NoError(t, c.Err())
			c.Ended(2, wire.Broken, errAway)
			require.Equal(t, of.lost, c.members.Lost(2))
			require.True(t, c.members.Gone(2))
			if of.lost {
				require.ErrorIs(t, c.fate.err, ErrPeerLost)
				return
			}
			require.NoError(t, c.fate.err)
			c.Begin(bcast, InPlace(make([]byte, 8)))
			require.ErrorIs(t, c.Err(), ErrPeerLeft)
		})
	}
}

// relay is an overlay of three ranks: rank 1 passes on the messages of rank 0 to rank 2.
type relay struct{}

func (relay) Channels(dst []int, rank int) []int {
	if rank == 2 {
		return dst
	}
	return append(dst, rank+1)
}

func (r relay) Forward(dst []int, rank, _, _ int) []int { return r.Channels(dst, rank) }
func (relay) Sender(rank, _ int) int                    { return max(0, rank-1) }

// Before a rank says goodbye in good order, it passes on what others still need of it. After it, the
// rank above it takes its place.
func TestGoodbyeBringsMessages(t *testing.T) {
	for leaver, spread := range map[int]bool{1: false, 0: true} {
		l := newLanes(3)
		overlay := Overlay(relay{})
		if spread {
			spec, err := schedule.New("anycast/mcast-acktree", schedule.Params{Ranks: 3})
			require.NoError(t, err)
			overlay = spec.Overlay()
		}
		for rank := range l.cores {
			l.cores[rank] = New(Config{
				Rank: rank, Size: 3, Epoch: 1, Repair: 20e6, Stall: 250e6, Overlay: overlay, Spread: spread,
				PublishPrint: 1, PublishWindow: 8, PublishBytes: 100, MaxMessage: 10, Caps: wire.Caps{Multicast: spread, Datagram: 10},
			}, l.net(rank))
		}
		l.cores[0].Publish([]byte("x"))
		l.deliverAll(t)
		require.True(t, l.cores[leaver].Close(errAway))
		l.cores[leaver].Goodbye(true)
		l.deliverAll(t)
		for rank, c := range l.cores {
			require.True(t, rank == leaver || c.Err() == nil, "rank %d: %v", rank, c.Err())
		}
		require.Equal(t, 1, l.cores[2].Mail(), "multicast: %t", spread)
		if !spread {
			l.cores[0].Publish([]byte("y"))
			l.deliverAll(t)
			require.Equal(t, 2, l.cores[2].Mail())
		}
	}
}

// The goodbye of a rank that closes inside an operation names the last one that has ended there. The
// reason comes before it, so that no rank must ask a rank that has gone.
func TestGoodbyeInsideAnOperation(t *testing.T) {
	net := &recorder{}
	c := New(Config{Rank: 0, Size: 4, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, net)
	bcast := planOf(t, "bcast/linear", schedule.Params{Ranks: 4, Chunks: 1}, 0)
	c.Begin(bcast, InPlace(make([]byte, 8)))
	first := c.ops.print
	c.End(1)
	c.Begin(bcast, InPlace(make([]byte, 8)))
	require.False(t, c.Close(errAway))
	c.Goodbye(false)
	for rank := 1; rank < 4; rank++ {
		var kinds []wire.FrameKind
		for _, f := range net.puts {
			if f.to == rank && f.head.Lane == wire.LaneControl {
				kinds = append(kinds, f.head.Kind)
			}
			if h := f.head; h.Kind == wire.FrameLeave {
				require.Equal(t, []any{uint64(1), first, uint32(failed)}, []any{h.Seq, h.Print, h.Arg})
			}
		}
		require.Contains(t, kinds, wire.FrameAbort, "rank %d", rank)
		require.Equal(t, wire.FrameLeave, kinds[len(kinds)-1], "rank %d", rank)
	}
	c = New(Config{Rank: 1, Size: 4, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, net)
	leave := control(0, wire.FrameLeave)
	leave.Arg = failed
	c.Arrived(leave, nil)
	require.ErrorIs(t, c.Err(), ErrPeerLeft, "although no reason has come")
}

// A rank says goodbye to all ranks with which it exchanges rootless messages or questions, however
// far they are.
func TestGoodbyeToNeighbours(t *testing.T) {
	for name, cfg := range map[string]Config{
		"nobody":     {Overlay: nowhere{}},
		"messages":   {Overlay: star(many), AskOverlay: nowhere{}},
		"multicasts": {Overlay: star(many), AskOverlay: nowhere{}, Spread: true},
		"questions":  {Overlay: nowhere{}, AskOverlay: star(many)},
	} {
		cfg.Size, cfg.Epoch, cfg.PublishWindow = many, 1, 1
		net := &questioner{}
		c := New(cfg, net)
		require.True(t, c.Close(errAway))
		c.Goodbye(true)
		if name == "nobody" {
			require.Less(t, len(net.to), 40)
		} else {
			require.Len(t, net.to, many-1, name)
		}
	}
}

// A rank that has failed tells the reason, once, to a rank that asks it, and a rank that has closed
// hears of no deaths.
func TestAfterTheEnd(t *testing.T) {
	for _, kind := range []wire.FrameKind{wire.FrameProbe, wire.FrameListen, wire.FrameFlush, wire.FrameWatch} {
		net := &questioner{}
		c := New(Config{Size: many, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, net)
		c.Fail("bcast", 1, errAway)
		const asker = 51 // not a child of rank 0
		for range 2 {
			c.take(*control(asker, kind))
		}
		told := 0
		for i, to := range net.to {
			told += count(to == asker && net.kinds[i] == wire.FrameAbort)
		}
		require.Equal(t, 1, told, "frame kind %d", kind)
	}
	lost := 0
	c := New(Config{Size: 4, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}, Lost: func(int, error) { lost++ }}, &questioner{})
	require.True(t, c.Close(errAway))
	c.Ended(2, wire.Broken, errAway)
	require.Zero(t, lost)
	require.False(t, c.members.Lost(2))
}

// A rank that waits for messages may still get some from a rank that is only suspected to be lost.
func TestListenToASuspectedRank(t *testing.T) {
	c := New(Config{Rank: 0, Size: 3, Epoch: 1, PublishWindow: 1, Overlay: star(3)}, &questioner{})
	c.Ended(1, wire.Closed, nil)
	require.NoError(t, c.Listen())
	c.Ended(2, wire.Refused, errAway)
	require.NoError(t, c.Listen())
	c.Arrived(control(2, wire.FrameLeave), nil)
	require.ErrorIs(t, c.Listen(), ErrPeerLeft)
}
