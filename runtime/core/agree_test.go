package core

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

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

// group is the cores of some ranks, one of which is stopped, and the messages under way between
// them.
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
			g.cores[l.to].agree.heard(&l.head, l.body)
		}
	}
	for _, c := range left {
		require.NoError(t, c.Excluded())
		require.True(t, c.Confirmed(), "rank %d", c.env.Rank)
		_, ok := c.Outcome(c.agree.last)
		require.True(t, ok)
	}
}

// TestStoppedRankIsExcluded checks that a stopped rank, which the others have agreed without,
// learns that from the first message that reaches it, even from ranks that know it only from
// others.
func TestStoppedRankIsExcluded(t *testing.T) {
	const size, stopped = 4, 2
	for _, finds := range []int{0, 1, 3} {
		g := &group{stopped: stopped}
		for rank := range size {
			g.cores = append(g.cores, g.core(rank, size))
		}
		g.cores[finds].members.lose(stopped, false)
		g.agree(t)
		g.agree(t)
		for _, l := range g.kept {
			c := g.core(stopped, size)
			c.agree.heard(&l.head, l.body)
			if l.head.Seq <= 1 && c.Excluded() == nil {
				require.NoError(t, c.Err()) // the message of a rank that did not know yet
				continue
			}
			require.Error(t, c.Excluded(), "rank %d in ballot %d", l.head.From, l.head.Seq)
		}
	}
}
