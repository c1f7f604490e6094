package core

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// carrier is where agreements say something.
type carrier struct {
	discard
	from int
	all  *[]told
}

// told is what a rank has told to another.
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

// A rank that was stopped while the others have taken it for lost, and have agreed without it, hears of that whatever comes to it first, also from those
// that have heard it from others alone.
func TestStoppedRankIsExcluded(t *testing.T) {
	const size, stopped = 4, 2
	for finds := range size {
		if finds == stopped {
			continue
		}
		var way []told
		newCore := func(rank int) *Core {
			return New(Config{Rank: rank, Size: size, Epoch: 1, Repair: 1000, Stall: 1000, CastWindow: 1, Overlay: nowhere{}}, &carrier{from: rank, all: &way})
		}
		var all []*Core
		for rank := range size {
			all = append(all, newCore(rank))
		}
		all[finds].members.lose(stopped)
		var kept []told
		for range 2 {
			for rank, c := range all {
				if rank != stopped {
					c.Vote(Vote{})
				}
			}
			for len(way) > 0 {
				l := way[0]
				way = way[1:]
				if l.to == stopped {
					kept = append(kept, l)
					continue
				}
				all[l.to].agree.heard(&l.head, l.body)
			}
			for rank, c := range all {
				if rank != stopped {
					require.NoError(t, c.Excluded())
					require.True(t, c.Confirmed(), "rank %d", rank)
					_, ok := c.Outcome(c.agree.last)
					require.True(t, ok)
				}
			}
		}
		for _, l := range kept {
			c := newCore(stopped)
			c.agree.heard(&l.head, l.body)
			if l.head.Seq <= 1 && c.Excluded() == nil {
				require.NoError(t, c.Err()) // from one that did not know yet
				continue
			}
			require.Error(t, c.Excluded(), "rank %d in ballot %d", l.head.From, l.head.Seq)
		}
	}
}
