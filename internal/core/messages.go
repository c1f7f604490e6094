package core

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/internal/core/publish"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Overlay says where rootless messages go.
type Overlay = publish.Overlay

// Message is a rootless message.
type Message = publish.Message

func publishConfig(cfg *Config) publish.Config {
	return publish.Config{
		Rank: cfg.Rank, Size: cfg.Size, Epoch: cfg.Epoch, Caps: cfg.Caps, Repair: cfg.Repair,
		Multicast: cfg.Spread, Overlay: cfg.Overlay, Print: cfg.PublishPrint,
		Window: cfg.PublishWindow, Bytes: cfg.PublishBytes, MaxMessage: cfg.MaxMessage,
	}
}

// publisher is the core as the host of rootless messages.
type publisher Core

var _ publish.Host = (*publisher)(nil)

// Put implements [publish.Host].
func (p *publisher) Put(to int, f *wire.Frame) { p.env.put(to, f) }

// Mcast implements [publish.Host].
func (p *publisher) Mcast(f *wire.Frame) {
	p.env.queued = true
	p.env.net.Mcast(f)
}

// Failed implements [publish.Host].
func (p *publisher) Failed() bool { return p.fate.err != nil }

// Disagree implements [publish.Host]: the sender of the frame uses other trees or other windows.
func (p *publisher) Disagree(h *wire.Header) {
	p.fate.clash(overPublish, 0, p.env.PublishWords, nil, h.From, h.Print)
}

// Violation implements [publish.Host].
func (p *publisher) Violation(h *wire.Header, format string, args ...any) {
	p.fate.violation(h, format, args...)
}

// Severed implements [publish.Host].
func (p *publisher) Severed(rank int, why string) {
	p.fate.broken("publish", 0, &RankError{Rank: rank, Err: fmt.Errorf("%w: it has closed its communicator, and %s", ErrPeerLeft, why)})
}

// messagesOf returns the messages that a frame is about: those of the process, or those about
// questions.
func (c *Core) messagesOf(h *wire.Header) *publish.Messages {
	if int(h.Arg) >= c.env.Size {
		return c.surveys.messages
	}
	return c.messages
}

// HasRoom reports whether another rootless message may be published. If not, the caller waits for
// other ranks, so the core watches them.
func (c *Core) HasRoom() bool {
	room := c.fate.err == nil && c.messages.HasRoom(0)
	if !room {
		c.watch.Want()
	}
	return room
}

// Flush asks all ranks whether they have received this rank's rootless messages. It returns the
// number of these messages.
func (c *Core) Flush() uint64 { return c.messages.Flush() }

// Flushed reports whether all ranks that have not left have received the first n messages of this
// rank. If not, the caller waits for other ranks, so the core watches them.
func (c *Core) Flushed(n uint64) bool {
	flushed := c.messages.Flushed(n)
	if !flushed {
		c.watch.Want()
	}
	return flushed
}

// Came returns how many rootless messages of a rank have arrived here.
func (c *Core) Came(origin int) uint64 { return c.messages.Came(origin) }

// Publish sends msg and copies it.
func (c *Core) Publish(msg []byte) { c.messages.Publish(msg) }

// Mail returns how many rootless messages the process has not taken.
func (c *Core) Mail() int { return c.messages.Waiting() }

// Take returns the oldest rootless message that the process has not taken. Mail must not be 0.
func (c *Core) Take() Message { return c.messages.Take() }

// A rank that waits for a rootless message waits for no particular rank, and no operation tells it
// that no message will come. So it connects to its sources, the ranks that send messages to it, and
// notices when one of them dies. A rank that leaves in good order tells the ranks to which it
// sends. When all sources have left, no message can come any more.

// Listen says that the process waits for a rootless message. No message may be waiting. Listen
// returns an error if no message can come any more, because all sources have left. The core does
// not fail by that.
func (c *Core) Listen() error {
	c.messages.Listen()
	c.watch.Want()
	if len(c.members.All()) == 0 {
		return nil // nobody has left; Sources allocates
	}
	sources := c.messages.Sources()
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
		Rank: last, Err: fmt.Errorf("%w: all ranks that pass on rootless messages to this rank have left: rank %s", ErrPeerLeft, words.List(sources)),
	}}
}
