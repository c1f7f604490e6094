package core

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/agree"
	"github.com/schedgen/schedgen/internal/core/loss"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// agree lets all ranks that have a core agree.
func (l *lanes) agree(t *testing.T) {
	present := slices.DeleteFunc(slices.Clone(l.cores), func(c *Core) bool { return c == nil })
	for _, c := range present {
		c.Vote(Vote{})
	}
	l.deliverAll(t)
	for _, c := range present {
		require.NoError(t, c.Excluded())
		require.True(t, c.Confirmed(), "rank %d", c.env.Rank)
		_, ok := c.Outcome(c.agree.Last())
		require.True(t, ok)
	}
}

// TestStoppedRankIsExcluded checks that a stopped rank learns from the first message that reaches
// it that the others have agreed without it, even if the sender knows this only from others.
func TestStoppedRankIsExcluded(t *testing.T) {
	const size, stopped = 4, 2
	member := func(rank int, net Net) *Core {
		return New(Config{Rank: rank, Size: size, Epoch: 1, Repair: 1000, Stall: 1000, PublishWindow: 1, Overlay: nowhere{}}, net)
	}
	kept := 0 // messages for the stopped rank
	for _, finds := range []int{0, 1, 3} {
		l := newLanes(size)
		for rank := range size {
			if rank != stopped {
				l.cores[rank] = member(rank, l.net(rank))
			}
		}
		l.cores[finds].members.Lose(stopped, false)
		l.agree(t)
		l.agree(t)
		for from := range size {
			for _, f := range *l.Lane(from, stopped, wire.LaneControl) {
				if f.Kind != wire.FrameAgree {
					continue
				}
				kept++
				c := member(stopped, &discard{})
				c.heardAgreement(&f.Header, f.Body)
				if f.Seq <= 1 && c.Excluded() == nil {
					require.NoError(t, c.Err()) // the message of a rank that did not know yet
					continue
				}
				require.Error(t, c.Excluded(), "rank %d in ballot %d", f.From, f.Seq)
			}
		}
	}
	require.NotZero(t, kept)
}

// telling is the facts of a rank that knows of gone and lost ranks.
type telling struct {
	gone agree.Set
	lost agree.Losses
}

func (f *telling) Gone() (agree.Set, agree.Losses) { return f.gone, f.lost }
func (f *telling) Came(int) uint64                 { return 0 }
func (f *telling) Answers() []agree.Answers        { return nil }
func (f *telling) Doubts(int) bool                 { return false }

// callOf is the frame in which rank 1 of size ranks says in a ballot which ranks have gone, and
// which of them are lost.
func callOf(size int, ballot uint64, gone, lost []int) *wire.Frame {
	f := &telling{agree.NewSet(size), agree.NewLosses(size)}
	for _, rank := range gone {
		f.gone.Add(rank)
	}
	for _, rank := range lost {
		f.lost.Add(rank, false)
	}
	a := agree.New(1, size)
	a.Begin(f)
	a.Open(f)
	a.Update(f, false)
	for _, m := range a.Messages() {
		if m.Ballot == ballot && (m.To == 0 || f.gone.Has(0)) { // a rank that has gone is not told
			return &wire.Frame{Header: wire.Header{
				Kind: wire.FrameAgree, Lane: wire.LaneControl, Epoch: 1, Seq: m.Ballot, Arg: uint32(m.Kind), Len: len(m.Body), From: 1,
			}, Body: m.Body}
		}
	}
	return nil
}

// A body that is read in parts is asked for at each part, and always goes to the same place.
func TestAgreementIsReadInParts(t *testing.T) {
	const size = 100
	c := New(Config{Rank: 0, Size: size, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, &discard{})
	f := callOf(size, 1, []int{70}, []int{70})
	const half = 30
	first, _ := c.Body(&f.Header)
	copy(first[:half], f.Body[:half])
	rest, _ := c.Body(&f.Header)
	copy(rest[half:], f.Body[half:])
	c.Arrived(&f.Header, rest)
	gone, _ := c.agree.Said(1)
	require.Equal(t, []int{70}, gone.List())
}

// star is an overlay in which each origin sends to all ranks itself.
type star int

func (s star) Sender(_, origin int) int { return origin }

func (s star) Channels(dst []int, rank int) []int { return s.Forward(dst, rank, rank, rank) }

func (s star) Forward(dst []int, rank, origin, _ int) []int {
	for to := 0; to < int(s) && rank == origin; to++ {
		if to != rank {
			dst = append(dst, to)
		}
	}
	return dst
}

// bereaved is lanes of ranks of which the last has published five messages and died. Three of them
// have come to rank 0, and all to the others. The process of rank 0 has taken one. No rank knows of
// the death yet.
func bereaved(t *testing.T, size int) *lanes {
	l := newLanes(size)
	for rank := range size {
		l.cores[rank] = New(Config{
			Rank: rank, Size: size, Epoch: 1, Repair: 20e6, Stall: 250e6, Overlay: star(size),
			PublishPrint: 1, PublishWindow: 8, PublishBytes: 100, MaxMessage: 10,
		}, l.net(rank))
	}
	dead := l.cores[size-1]
	for i := range 5 {
		dead.Publish([]byte{byte(i)})
		if i == 2 {
			l.deliverAll(t)
		}
	}
	l.lose(size-1, 0)
	l.deliverAll(t)
	l.cores[0].Take()
	return l
}

// lose discards the frames under way from one rank to another, and returns their kinds.
func (l *lanes) lose(from, to int) (kinds []wire.FrameKind) {
	for k := range wire.Lanes {
		for _, f := range *l.Lane(from, to, k) {
			kinds = append(kinds, f.Kind)
		}
		*l.Lane(from, to, k) = nil
	}
	return kinds
}

// All survivors learn the same of the messages of a dead rank: how many have come, to the ranks with
// the fewest and the most. Messages that come after a rank has told its number do not count.
func TestMessagesOfADeadRank(t *testing.T) {
	const size = 4
	l := bereaved(t, size)
	late := wire.Header{Kind: wire.FramePublish, Lane: wire.LaneControl, Epoch: 1, Seq: 3, Print: 1, Arg: size - 1, Len: 1, From: size - 1}
	dst, v := l.cores[0].Body(&late)
	require.Equal(t, wire.Accept, v)
	l.cores[0].Ended(size-1, wire.Broken, errAway)
	l.cores[0].Arrived(&late, dst)
	require.EqualValues(t, 3, l.cores[0].Came(size-1))
	l.deliverAll(t)
	for rank := range size - 1 {
		c := l.cores[rank]
		c.Tick(1)
		var lost *LostError
		require.ErrorAs(t, c.Err(), &lost)
		require.Equal(t, []int{size - 1}, lost.Ranks)
		require.Empty(t, lost.Silent)
		require.ErrorContains(t, lost, "rank 3: rank lost: away")
		require.Equal(t, []Came{{Rank: size - 1, Least: 3, Most: 5}}, lost.Came, "rank %d", rank)
		require.ErrorContains(t, lost, "the remaining ranks do not all have the same messages of rank 3: from 3 to 5 of them")
	}
}

// The goodbye of a rank that leaves after a failure brings what the ranks have agreed on, before it
// says that the rank leaves: a rank that has not heard the outcome would agree anew without it.
func TestGoodbyeBringsTheOutcome(t *testing.T) {
	const size = 3
	l := bereaved(t, size)
	l.cores[1].Ended(size-1, wire.Broken, errAway)
	for !l.cores[0].agree.LossesKnown() {
		require.True(t, l.deliverEach(t))
	}
	require.Contains(t, l.lose(0, 1), wire.FrameAgree)
	require.False(t, l.cores[1].agree.LossesKnown())
	require.False(t, l.cores[0].Close(errAway))
	l.cores[0].Goodbye(false)
	l.deliverAll(t)
	l.cores[1].Tick(1)
	var lost *LostError
	require.ErrorAs(t, l.cores[1].Err(), &lost)
	require.Equal(t, []Came{{Rank: size - 1, Least: 3, Most: 5}}, lost.Came)
}

// A rank may close only when all others know the outcome that it knows. So a rank that has to agree
// without it agrees on the same.
func TestConfirmed(t *testing.T) {
	const size = 5
	l := bereaved(t, size)
	for _, c := range l.cores {
		require.True(t, c.Confirmed(), "there is nothing to agree on")
		c.Vote(Vote{})
		require.False(t, c.Confirmed())
	}
	knows := func(c *Core) bool { _, ok := c.Outcome(1); return ok }
	for i := 0; slices.ContainsFunc(l.cores, func(c *Core) bool { return !c.Confirmed() }); i++ {
		require.Less(t, i, 1000)
		l.deliver(t, i)
		for rank, c := range l.cores {
			require.True(t, !c.Confirmed() || !slices.ContainsFunc(l.cores, func(c *Core) bool { return !knows(c) }), "rank %d", rank)
		}
	}
}

// A rank that may hear of a failure only by the agreement hears the reason first.
func TestReasonComesBeforeTheAgreement(t *testing.T) {
	net := &recorder{}
	c := New(Config{Rank: 3, Size: 8, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, net)
	c.Ended(5, wire.Broken, errAway)
	agrees := 0
	for i, f := range net.puts {
		if f.head.Kind == wire.FrameAgree {
			agrees++
			require.True(t, slices.ContainsFunc(net.puts[:i], func(g sent) bool { return g.to == f.to && g.head.Kind == wire.FrameAbort }), "rank %d", f.to)
		}
	}
	require.NotZero(t, agrees)
}

// A rank that others have gone on without fails, says that it is lost itself, and agrees on nothing
// any more, unless only a rank that is lost says so.
func TestGoneWithout(t *testing.T) {
	for _, lost := range []bool{false, true} {
		var told []int
		c := New(Config{Rank: 0, Size: many, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}, Lost: func(rank int, err error) {
			require.ErrorIs(t, err, ErrPeerLost)
			told = append(told, rank)
		}}, &discard{})
		if lost {
			c.members.Lose(1, false)
		}
		f := callOf(many, 0, []int{0}, []int{0})
		c.Arrived(&f.Header, f.Body)
		require.Equal(t, lost, c.Excluded() == nil)
		require.Equal(t, lost, c.Err() == nil)
		require.Equal(t, lost, len(told) == 0)
		if !lost {
			require.Equal(t, []int{0}, told)
			require.ErrorContains(t, c.Err(), "rank 0: rank lost: rank 1 and others have gone on without this one")
		}
	}
}

// A rank that closes does not wait until the others have agreed on the lost ranks.
func TestCloseEndsTheWait(t *testing.T) {
	c := New(Config{Rank: 0, Size: 4, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, &discard{})
	c.Ended(2, wire.Broken, errAway)
	require.NoError(t, c.Err(), "the others have not voted")
	require.True(t, c.Failed())
	require.False(t, c.Close(errAway))
	require.ErrorIs(t, c.Err(), ErrPeerLost)
}

// While losses are seen, a rank that repeats its last signals must not close.
func TestRepeatedSignalsAreUnconfirmed(t *testing.T) {
	c := New(Config{Rank: 0, Size: 4, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}, Caps: wire.Caps{Direct: true}}, &discard{})
	c.Begin(planOf(t, "bcast/linear", schedule.Params{Ranks: 4, Chunks: 1}, 0), InPlace(make([]byte, 8)))
	c.End(1)
	c.ops.loss.Double(loss.Double{Seq: 1, Slot: ir.Signal(0), To: 1})
	require.True(t, c.Confirmed())
	c.ops.loss.Lost()
	require.False(t, c.Confirmed())
	c.ops.loss.Confirmed(1, 1, ir.Signal(0))
	require.True(t, c.Confirmed())
}

// A rank that says that it is lost itself, as it has heard in another communicator, is lost.
func TestRankThatKnowsThatItIsLost(t *testing.T) {
	c := New(Config{Rank: 0, Size: 4, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, &discard{})
	h := wire.Header{Kind: wire.FrameAbort, Lane: wire.LaneControl, Epoch: 1, Print: 4, Arg: 2, Slot: 2, From: 2}
	require.Equal(t, ErrPeerLost, c.env.kindOf(cause(h.Print)))
	c.take(h)
	require.True(t, c.members.Lost(2))
}

// A rank reports each rank that it learns to be lost once, also if only the agreement says so, or if
// no agreement comes and another rank has said why it failed.
func TestLostRanksAreReported(t *testing.T) {
	const size = 4
	l := newLanes(size)
	lost := make([]map[int]error, size)
	for rank := range size {
		lost[rank] = map[int]error{}
		l.cores[rank] = New(Config{Rank: rank, Size: size, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}, Lost: func(of int, err error) {
			require.NotContains(t, lost[rank], of)
			lost[rank][of] = err
		}}, l.net(rank))
	}
	l.cores[0].Ended(2, wire.Broken, errAway)
	l.cores[1].Ended(3, wire.Broken, errAway)
	l.deliverAll(t)
	for rank := range 2 {
		l.cores[rank].Tick(1)
		require.ErrorIs(t, lost[rank][2], ErrPeerLost, "rank %d", rank)
		require.ErrorIs(t, lost[rank][3], ErrPeerLost, "rank %d", rank)
		var all *LostError
		require.ErrorAs(t, l.cores[rank].Err(), &all)
		require.Equal(t, []int{2, 3}, all.Ranks)
	}

	var silent []int
	c := New(Config{Rank: 1, Size: size, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}, Lost: func(of int, err error) {
		require.ErrorIs(t, err, ErrPeerSilent)
		silent = append(silent, of)
	}}, &discard{})
	c.take(wire.Header{Kind: wire.FrameAbort, Lane: wire.LaneControl, Epoch: 1, Print: 3, Arg: 0, Slot: 2, From: 0})
	c.Tick(1)
	require.NoError(t, c.Err())
	c.Tick(1 + longest)
	require.ErrorIs(t, c.Err(), ErrPeerSilent)
	require.Equal(t, []int{2}, silent)
}

// Failed calls wait for silent ranks anew whenever another rank is found to have gone.
func TestPatienceBeginsAnew(t *testing.T) {
	c := New(Config{Rank: 0, Size: 5, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, &discard{})
	c.Ended(2, wire.Broken, errAway)
	c.Tick(1)
	c.Tick(longest)
	c.Ended(3, wire.Broken, errAway)
	c.Tick(longest + 1)
	c.Tick(2 * longest)
	require.NoError(t, c.Err())
	c.Tick(2*longest + 1)
	require.ErrorIs(t, c.Err(), ErrPeerLost)
}

// An error says how many messages of a dead rank have come only if they are not the same everywhere.
func TestTextOfLostRanks(t *testing.T) {
	e := &LostError{Ranks: []int{2}, Came: []Came{{Rank: 2, Least: 3, Most: 3}}, Err: errAway}
	require.EqualError(t, e, "away")
	e.Ranks, e.Came[0].Most = []int{2, 4}, 5
	require.EqualError(t, e, "ranks 2, 4 are lost: away; the remaining ranks do not all have the same messages of rank 2: from 3 to 5 of them")
}
