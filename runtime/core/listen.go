package core

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/runtime/core/presence"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A rank that waits for a rootless message waits for no particular rank, and no operation tells it
// that none will come. So it connects to its sources, the ranks that send messages to it, and
// notices when one of them dies. A rank that leaves in good order tells the ranks to which it
// sends. When all sources have left, no message can come any more.

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

// comeBy returns the ranks that send messages to this rank.
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

// heardListener checks that a rank that listens uses the same trees.
func (rl *rootless) heardListener(h *wire.Header) {
	if h.Print != rl.PublishPrint {
		rl.fate.disagree(h)
	}
}

// disagree fails the core because the sender of a frame uses other trees or other windows.
func (f *failure) disagree(h *wire.Header) {
	f.clash(overPublish, 0, f.PublishWords, nil, h.From, h.Print)
}

// Listen says that the process waits for a rootless message. No message may be waiting. Listen
// returns an error if no message can come any more, because all sources have left. The core does
// not fail by that.
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
