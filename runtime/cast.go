package runtime

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"

	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/schedule"
)

// Message is a rootless message: Data is the receiver's own.
type Message = core.Message

// Publish sends msg to all other ranks, without their knowing of it
// beforehand (paper 001). Each receives it exactly once, and the messages of
// one origin in order; between origins there is no order. msg may be reused
// when Publish returns. Publish waits while Config.CastWindow messages or
// CastBytes bytes of this rank have not been consumed everywhere: a rank that
// never takes its messages holds everybody up, and memory stays bounded.
//
// The end of ctx while waiting leaves the communicator intact: msg is not sent. Where
// there is nothing to wait for, msg is sent also if ctx has ended.
func (c *Comm) Publish(ctx context.Context, msg []byte) error {
	if len(msg) > c.cfg.MaxMessage {
		return fmt.Errorf("publish: %w: %d bytes, at most %d", ErrTooLarge, len(msg), c.cfg.MaxMessage)
	}
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	if err := c.core.Err(); err != nil {
		return err
	}
	c.enter()
	defer c.leave()
	if err := c.await(ctx, room{}); err != nil {
		return c.castError("publish", err)
	}
	c.core.Publish(msg)
	return nil
}

// Next waits for a rootless message. The end of ctx leaves the communicator
// intact; a message that is here is returned also if ctx has ended before. When all ranks
// have closed the communicator by which messages come here (all others at the latest), Next fails with
// ErrPeerLeft, which leaves the communicator intact too.
func (c *Comm) Next(ctx context.Context) (Message, error) {
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	if err := c.core.Err(); err != nil && c.core.Mail() == 0 {
		return Message{}, err
	}
	c.enter()
	defer c.leave()
	if err := c.await(ctx, mail{}); err != nil {
		return Message{}, c.castError("next", err)
	}
	if c.core.Mail() == 0 {
		return Message{}, c.core.Listen()
	}
	return c.core.Take(), nil
}

// TryNext returns a rootless message if there is one, without waiting; ok tells. That
// none can come any more is no error.
func (c *Comm) TryNext() (msg Message, ok bool, err error) {
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	if c.core.Err() == nil {
		c.drv.poll()
	}
	if c.core.Mail() > 0 {
		return c.core.Take(), true, nil
	}
	return Message{}, false, c.core.Err()
}

// Messages returns the rootless messages as they come, in a loop such as
//
//	for msg, err := range comm.Messages(ctx) { … }
//
// until ctx ends, the communicator is closed or fails, or no message can come any more:
// that is the error of the last turn, which has no message.
func (c *Comm) Messages(ctx context.Context) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		for {
			msg, err := c.Next(ctx)
			if !yield(msg, err) || err != nil {
				return
			}
		}
	}
}

func (c *Comm) castError(op string, err error) error {
	if err := c.core.Err(); err != nil {
		return err
	}
	return &OpError{Op: op, Rank: c.rank, Epoch: c.cfg.Epoch, Err: err}
}

// room and mail are what Publish and Next wait for.
type (
	room struct{ working }
	mail struct{ working }
)

func (room) met(c *Comm) bool { return c.core.HasRoom() }
func (mail) met(c *Comm) bool {
	return c.core.Mail() > 0 || c.core.Err() == nil && c.core.Listen() != nil
}

// overlay returns the trees of rootless messages, and a fingerprint of what
// ranks have to agree on for them.
func (cfg *Config) overlay(alg Algorithm, size int) (schedule.Overlay, uint32, error) {
	params := alg.Params
	params.Ranks, params.Root, params.Chunks = size, 0, 0
	spec, err := schedule.New(alg.Name, params)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrInput, err)
	}
	overlay := spec.Overlay()
	if overlay == nil {
		return nil, 0, fmt.Errorf("%w: %s is not rootless", ErrInput, alg.Name)
	}
	f := fnv.New32a()
	fmt.Fprintf(f, "%s %d %d %d %d", alg.Name, size, cfg.CastWindow, cfg.CastBytes, cfg.MaxMessage)
	return overlay, f.Sum32() | 1, nil
}
