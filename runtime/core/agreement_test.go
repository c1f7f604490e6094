package core

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/core/agree"
	"github.com/schedgen/schedgen/runtime/wire"
)

// carrier is the network of agreements.
type carrier struct {
	discard
	from int
	all  *[]told
}

// told is a message from one rank to another.
type told struct {
	to   int
	head wire.Header
	body []byte
}

func (c *carrier) Put(to int, f *wire.Frame) {
	if f.Kind == wire.FrameAgree {
		h := f.Header
		h.From = c.from
		*c.all = append(*c.all, told{to, h, slices.Clone(f.Body)})
	}
	c.drop(f)
}

// group is the cores of some ranks, with one stopped rank, and the messages under way between them.
type group struct {
	stopped int
	cores   []*Core
	way     []told
	kept    []told // messages for the stopped rank
}

func (g *group) core(rank, size int) *Core {
	return New(Config{Rank: rank, Size: size, Epoch: 1, Repair: 1000, Stall: 1000, PublishWindow: 1, Overlay: nowhere{}}, &carrier{from: rank, all: &g.way})
}

// agree lets all ranks agree except the stopped one.
func (g *group) agree(t *testing.T) {
	left := slices.Delete(slices.Clone(g.cores), g.stopped, g.stopped+1)
	for _, c := range left {
		c.Vote(Vote{})
	}
	for ; len(g.way) > 0; g.way = g.way[1:] {
		if l := g.way[0]; l.to == g.stopped {
			g.kept = append(g.kept, l)
		} else {
			g.cores[l.to].heardAgreement(&l.head, l.body)
		}
	}
	for _, c := range left {
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
	for _, finds := range []int{0, 1, 3} {
		g := &group{stopped: stopped}
		for rank := range size {
			g.cores = append(g.cores, g.core(rank, size))
		}
		g.cores[finds].members.Lose(stopped, false)
		g.agree(t)
		g.agree(t)
		for _, l := range g.kept {
			c := g.core(stopped, size)
			c.heardAgreement(&l.head, l.body)
			if l.head.Seq <= 1 && c.Excluded() == nil {
				require.NoError(t, c.Err()) // the message of a rank that did not know yet
				continue
			}
			require.Error(t, c.Excluded(), "rank %d in ballot %d", l.head.From, l.head.Seq)
		}
	}
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
		if m.Ballot == ballot && m.To == 0 {
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
