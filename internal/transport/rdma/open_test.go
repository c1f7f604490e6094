package rdma

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/transport/stream"
	"github.com/schedgen/schedgen/runtime/wire"
)

// No ranks are connected before something is put, or a schedule will put something. Then these two
// ranks are connected, once, and stay connected.
func TestConnectsToReceiversOfPuts(t *testing.T) {
	n, trs := apartFrom(t, 5, nil)
	s := newEnds()
	require.Zero(t, n.Counts().Pairs)
	for _, tr := range trs {
		tr.Poll(s)
	}
	require.Zero(t, n.Counts().Pairs)
	trs[0].Open(3)
	trs[0].Open(3)
	trs[0].Open(0)
	trs[0].Open(-1)
	trs[0].Open(5)
	until(t, trs, s, func() bool { return trs[0].peers[3].link.progress == open && trs[3].peers[0].link.progress == open })
	require.Equal(t, 2, n.Counts().Pairs)
	for i := range 100 {
		trs[0].Put(3, slot(uint64(i), nil))
		trs[3].Put(0, slot(uint64(i), nil))
		trs[3].Flag(0, 7, wire.Flag{Seq: uint64(i + 1)})
	}
	until(t, trs, s, func() bool { return s.got == 200 && trs[0].Window(0)[7].Seq() == 100 })
	require.Equal(t, 2, n.Counts().Pairs)
	trs[1].Put(2, slot(0, make([]byte, 20_000)))
	trs[4].Flag(2, 1, wire.Flag{Seq: 9})
	until(t, trs, s, func() bool { return s.got == 201 && trs[2].Window(2)[1].Seq() == 9 })
	require.Equal(t, 6, n.Counts().Pairs)
	for _, tr := range trs {
		require.Zero(t, tr.way.opening)
	}
	require.Empty(t, s.how)
}

// In whatever order ranks connect, poll, put and close, each pair has at most one queue pair at
// each side. Puts to a rank that stays arrive in order. All ranks learn how the ranks that they are
// connected with have ended.
func TestConnectionsInAnyOrder(t *testing.T) {
	type step struct{ who, what, to int }
	const size = 4
	draw := rapid.Custom(func(t *rapid.T) step {
		return step{rapid.IntRange(0, size-1).Draw(t, "who"), rapid.IntRange(0, 9).Draw(t, "what"), rapid.IntRange(0, size-1).Draw(t, "to")}
	})
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(draw, 1, 60).Draw(rt, "steps")
		n, trs := apartFrom(t, size, nil)
		var sinks []*ordered
		for range trs {
			sinks = append(sinks, &ordered{ends: newEnds()})
		}
		var sent [size][size]uint64
		for _, s := range steps {
			switch tr := trs[s.who]; {
			case s.what == 0:
				tr.Open(s.to)
			case s.what <= 2 && s.to != s.who:
				sent[s.who][s.to]++
				tr.Put(s.to, slot(sent[s.who][s.to], make([]byte, s.what)))
			default:
				tr.Poll(sinks[s.who])
			}
		}
		all := func() bool {
			for from := range sent {
				for to := range sent[from] {
					if sinks[to].last[from] != sent[from][to] {
						return false
					}
				}
			}
			return true
		}
		poll := func() {
			for rank, tr := range trs {
				tr.Poll(sinks[rank])
			}
		}
		for end := time.Now().Add(patience); !all() && time.Now().Before(end); {
			poll()
		}
		require.True(rt, all(), "%v of %v", sinks, sent)
		for _, s := range sinks {
			require.False(rt, s.wrong)
		}
		first := trs[0]
		connected := slices.Clone(first.begun)
		require.NoError(rt, first.Close(true, patience))
		told := func() bool {
			return !slices.ContainsFunc(connected, func(p *pair) bool { return sinks[p.rank].how[0] == 0 })
		}
		for end := time.Now().Add(patience); !told() && time.Now().Before(end); {
			for rank := 1; rank < size; rank++ {
				trs[rank].Poll(sinks[rank])
			}
		}
		for _, p := range connected {
			require.Equal(rt, wire.Closed, sinks[p.rank].how[0])
		}
		require.Zero(rt, n.Starved)
		for _, tr := range trs {
			require.NoError(rt, tr.Close(false, 0))
		}
	})
}

// ordered is a sink that checks the order of frames.
type ordered struct {
	*ends
	last  [8]uint64
	wrong bool
}

func (o *ordered) Arrived(h *wire.Header, _ []byte) {
	o.wrong = o.wrong || h.Seq != o.last[h.From]+1
	o.last[h.From] = h.Seq
}

// A rank that puts to a closed rank learns of that, even if the other has closed before they were
// connected, or while they connect.
func TestConnectToClosingRank(t *testing.T) {
	for looks := range 8 {
		t.Run(fmt.Sprint("looks=", looks), func(t *testing.T) {
			_, trs := apartFrom(t, 2, nil)
			s, unsent := newEnds(), 1
			f := slot(1, nil)
			f.Unsent = &unsent
			trs[0].Put(1, f)
			for range looks {
				trs[0].Poll(s)
				trs[1].Poll(&gulp{})
			}
			closed := make(chan error, 1)
			go func() { closed <- trs[1].Close(true, patience) }()
			until(t, trs[:1], s, func() bool { return s.how[1] != 0 })
			require.NoError(t, <-closed)
			require.Contains(t, []wire.End{wire.Closed, wire.Refused}, s.how[1])
			require.Zero(t, unsent)
			trs[0].Put(1, slot(2, nil))
			trs[0].Flag(1, 3, wire.Flag{Seq: 1})
			trs[0].Poll(s)
			require.Zero(t, trs[0].way.opening)
			require.NoError(t, trs[0].Close(true, patience))
		})
	}
}

// Ranks that close at the same time, each with something for the next one, do not wait for each
// other in a circle.
func TestCloseInACircle(t *testing.T) {
	_, trs := apartFrom(t, 3, nil)
	errs := make(chan error, len(trs))
	for rank, tr := range trs {
		tr.Put((rank+1)%len(trs), slot(1, nil))
		tr.way.last = noteGoodbye // no rank answers before all have asked
	}
	for _, tr := range trs {
		go func() { errs <- tr.Close(true, 2*time.Second) }()
	}
	for range trs {
		require.NoError(t, <-errs)
	}
}

// A rank that asks a rank that closes without a goodbye learns that the closing rank has crashed.
func TestConnectToCrashedRank(t *testing.T) {
	for looks := range 4 {
		_, trs := apartFrom(t, 2, nil)
		s := newEnds()
		trs[0].Put(1, slot(1, nil))
		for range looks {
			trs[0].Poll(s)
		}
		trs[1].way.last = noteCrash // it is closing
		until(t, trs, s, func() bool { return s.how[1] != 0 })
		require.Equal(t, wire.Broken, s.how[1])
		require.ErrorIs(t, s.why[1], errCrashed)
	}
}

// TCP notices a process that has gone without a goodbye, for a rank that is connected and for a
// rank that connects.
func TestProcessThatHasGone(t *testing.T) {
	_, trs := apartFrom(t, 3, nil)
	s := newEnds()
	trs[0].Open(2)
	until(t, trs, s, func() bool { return trs[0].peers[2].link.progress == open })
	require.NoError(t, trs[2].way.puts.Close(false, 0)) // its queue pairs are there still, and nobody serves them
	trs[1].Put(2, slot(1, nil))
	late := newEnds()
	until(t, trs[:1], s, func() bool { return len(s.how) > 0 })
	until(t, trs[1:2], late, func() bool { return len(late.how) > 0 })
	require.Contains(t, []wire.End{wire.Broken, wire.Refused}, s.how[2])
	require.Equal(t, map[int]wire.End{2: wire.Refused}, late.how)
}

// A rank without memory, or without a queue pair, reports its own end.
func TestConnectWithoutMemory(t *testing.T) {
	_, trs := apartFrom(t, 3, nil)
	trs[0].adapter.(*port).poor = errors.New("no memory")
	s, unsent := newEnds(), 1
	f := slot(1, nil)
	f.Unsent = &unsent
	trs[0].Put(1, f)
	trs[0].Poll(s)
	require.Equal(t, wire.Broken, s.how[0])
	require.ErrorContains(t, s.why[0], "memory for rank 1: no memory")
}

// Invalid notes end the rank that has sent them, and no other.
func TestForgedNotes(t *testing.T) {
	number := make([]byte, offerLen)
	for name, f := range map[string]wire.Frame{
		"an answer to nobody":  {Header: wire.Header{Kind: wire.FrameSlot, Arg: uint32(noteAnswer)}, Body: number},
		"ready without asking": {Header: wire.Header{Kind: wire.FrameSlot, Arg: uint32(noteReady)}},
		"a short number":       {Header: wire.Header{Kind: wire.FrameSlot, Arg: uint32(noteNumber)}, Body: number[1:]},
		"no note":              {Header: wire.Header{Kind: wire.FrameSlot, Arg: 99}},
		"a goodbye of nobody":  {Header: wire.Header{Kind: wire.FrameSlot, Arg: uint32(noteGoodbye)}},
		"a long note":          {Header: wire.Header{Kind: wire.FrameSlot}, Body: make([]byte, offerLen+1)},
		"another frame":        {Header: wire.Header{Kind: wire.FramePublish}},
	} {
		t.Run(name, func(t *testing.T) {
			n, trs := apartFrom(t, 3, nil)
			s := newEnds()
			f.Lane = wire.LaneControl
			trs[1].way.puts.Put(0, &f)
			trs[1].park.woken.Store(true)
			until(t, trs[:2], s, func() bool { return s.how[1] != 0 })
			require.Equal(t, wire.Broken, s.how[1])
			require.ErrorIs(t, s.why[1], errNote)
			trs[2].Put(0, slot(1, nil))
			until(t, trs, s, func() bool { return s.got == 1 })
			require.Equal(t, 2, n.Counts().Pairs)
		})
	}
}

// A place is counted modulo 2^31 in immediate data, whatever has been sent before.
func TestAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 32
		sent := rapid.Uint32().Draw(t, "sent")
		known, more := sent+uint32(rapid.IntRange(0, most).Draw(t, "known")), uint32(rapid.IntRange(-40, 80).Draw(t, "more"))
		peer := credit{posted: known + more}
		own := credit{sent: sent, limit: known}
		flag := rapid.Bool().Draw(t, "flag")
		limit, ok := own.allowed(peer.word(flag), most)
		require.Equal(t, peer.posted, limit)
		require.Equal(t, int32(more) >= 0 && peer.posted-sent <= most, ok)
		require.Equal(t, flag, isFlag(peer.word(flag)))
	})
}

// The greatest number of ranks does not depend on how many others each connects with.
func TestManyRanks(t *testing.T) {
	cfg := Config{TCP: stream.Config{Options: stream.Options{Size: MaxSize + 1}}}
	_, err := Join(context.Background(), cfg)
	require.ErrorContains(t, err, fmt.Sprintf("%d ranks, at most %d", MaxSize+1, MaxSize))
	kind, rank, n := splitID(workID(idReceive, MaxSize-1, 1<<32-1))
	require.Equal(t, []int{idReceive, MaxSize - 1, 1<<32 - 1}, []int{kind, rank, int(n)})
	require.Less(t, MaxSize-1, Everybody)
}
