package core

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/runtime/core/presence"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A rank that waits for a rootless message waits for nobody in particular, so nothing of
// an operation tells it that none will come. It connects to those that its messages come
// by, so that it notices when one of them dies. When all of them have left in good order,
// which they tell those that they send to, nothing can come any more.

// listen connects this rank with its sources, once.
func (rl *rootless) listen() {
	if rl.listening {
		return
	}
	rl.listening = true
	for _, rank := range rl.comeBy() {
		if !rl.members.Gone(rank) {
			rl.control(rank, wire.FrameListen, 0, rl.PublishPrint, 0)
		}
	}
}

// comeBy returns the ranks that messages come by here.
func (rl *rootless) comeBy() []int {
	var to []int
	for rank := 0; rank < rl.Size && !rl.sought; rank++ {
		if to = rl.Overlay.Channels(to[:0], rank); slices.Contains(to, rl.Rank) {
			rl.sources = append(rl.sources, rank)
		}
	}
	rl.sought = true
	return rl.sources
}

// heardListener looks whether a rank that listens means the same trees.
func (rl *rootless) heardListener(h *wire.Header) {
	if h.Print != rl.PublishPrint {
		rl.fate.disagree(h)
	}
}

// disagree fails the core since the sender of a frame means other trees, or other windows.
func (f *failure) disagree(h *wire.Header) {
	f.clash(overPublish, 0, f.PublishWords, nil, h.From, h.Print)
}

// Listen says that the process waits for rootless messages, of which there is none. It
// returns an error if none can come any more, because all have left that they would come
// by. The core does not fail by that.
func (c *Core) Listen() error {
	c.messages().listen()
	c.watch.Want()
	sources := c.messages().comeBy()
	if len(sources) == 0 || len(c.members.All()) < len(sources) {
		return nil
	}
	for _, rank := range sources {
		if a := c.members.Of(rank); a == nil || a.State != presence.Left {
			return nil
		}
	}
	last := sources[len(sources)-1]
	return &OpError{Op: "next", Rank: c.env.Rank, Epoch: c.env.Epoch, Err: &RankError{
		Rank: last, Err: fmt.Errorf("%w: nobody is left that rootless messages come by: they came by rank %s", ErrPeerLeft, list(sources)),
	}}
}
