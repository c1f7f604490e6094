package core

import (
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Package presence finds silent ranks. Here the core gives it the facts, and acts on its findings.

var _ presence.Facts = (*facts)(nil)

// Taken returns how much of the puts to rank has left, if the network says so.
func (f *facts) Taken(rank int) uint64 {
	if t, ok := f.env.net.(wire.Taker); ok {
		return t.Taken(rank)
	}
	return 0
}

// Agreeing reports whether this rank waits for others to agree.
func (f *facts) Agreeing() bool { return (*Core)(f).agreeing() }

// Stuck reports whether the oldest operation has not moved for the time after which a silent rank
// is lost.
func (f *facts) Stuck(now Time) bool { return f.fate.err == nil && f.ops.stuck(now) }

// Awaits returns how the open operations wait for rank.
func (f *facts) Awaits(rank int) presence.Wait {
	_, how := f.ops.awaits(rank)
	return how
}

// tickWatch asks ranks for signs of life. It fails the core if a rank is silent, or has left
// without putting what an operation waits for.
func (c *Core) tickWatch(now Time) {
	found := c.watch.Tick(now, &c.members, (*facts)(c))
	for _, rank := range found.Silent {
		c.fate.silent(rank, c.env.Silence)
	}
	if found.LeftEarly {
		o, _ := c.ops.awaits(found.LeftRank)
		c.ops.leftEarly(o, found.LeftRank)
	}
	for _, q := range found.Questions {
		c.env.control(q.Rank, wire.FrameWatch, 0, 0, 0)
		if q.Loosely {
			c.sayLoosely(q.Rank, wire.FrameWatch)
		}
	}
	if len(found.Silent) > 0 {
		c.updateAgreements()
	}
}

// sayLoosely sends a frame of the watch as a datagram: where much is lost, TCP may send a lost put
// again only after half a minute.
func (c *Core) sayLoosely(to int, k wire.FrameKind) {
	c.env.queued = true
	c.env.net.Datagram(to, c.env.fillControl(k, 0, 0, 0))
}
