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
// when Publish returns. Publish waits while Config.PublishWindow messages or
// PublishBytes bytes of this rank have not been consumed everywhere: a rank that
// never takes its messages holds up who publishes, and nothing else, and memory stays
// bounded. Flush waits until messages are there.
//
// If a rank has closed its communicator by which msg would go to others, the communicator
// fails with ErrPeerLeft, at once or as soon as msg has come to the rank before it.
//
// The end of ctx while waiting leaves the communicator intact: msg is not sent. Where
// there is nothing to wait for, msg is sent also if ctx has ended.
func (c *Comm) Publish(ctx context.Context, msg []byte) error {
	if ctx == nil {
		return noContext("publish")
	}
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
		return c.publishError("publish", err)
	}
	c.core.Publish(msg)
	if err := c.core.Err(); err != nil {
		c.serve()
		c.notice()
		return err
	}
	return nil
}

// Flush waits until all messages that this rank has published before are at every rank that
// has not closed the communicator: Next hands them over there, in time, without any help of
// this rank or others. Whether processes have taken them it does not say, so ranks may flush
// before they take what the others have published, all at once. Other goroutines may publish
// meanwhile; what they publish after the call of Flush does not count.
//
// If a rank is lost or fails the communicator does, and Flush returns why, with its name. If ranks
// leave meanwhile, they are done without as far as that can be known; else the communicator
// fails with ErrPeerLeft. The end of ctx ends the waiting only. If there is nothing to wait for,
// Flush returns nil also if ctx has ended.
//
// A rank whose Config.Waiting.Idle is negative answers only while it is inside a call.
func (c *Comm) Flush(ctx context.Context) error {
	if ctx == nil {
		return noContext("flush")
	}
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	if err := c.core.Err(); err != nil {
		return err
	}
	c.enter()
	defer c.leave()
	if err := c.await(ctx, flushed(c.core.Flush())); err != nil {
		return c.publishError("flush", err)
	}
	return nil
}

// Next waits for a rootless message. The end of ctx leaves the communicator
// intact; a message that is here is returned also if ctx has ended before. When all ranks
// have closed the communicator by which messages come here (all others at the latest), Next fails with
// ErrPeerLeft, which leaves the communicator intact too.
func (c *Comm) Next(ctx context.Context) (Message, error) {
	if ctx == nil {
		return Message{}, noContext("next")
	}
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	if err := c.core.Err(); err != nil && c.core.Mail() == 0 {
		return Message{}, err
	}
	c.enter()
	defer c.leave()
	if err := c.await(ctx, mail{}); err != nil {
		return Message{}, c.publishError("next", err)
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

func (c *Comm) publishError(op string, err error) error {
	if err := c.core.Err(); err != nil {
		return err
	}
	return &OpError{Op: op, Rank: c.rank, Epoch: c.cfg.Epoch, Err: err}
}

// room, mail and flushed are what Publish, Next and Flush wait for.
type (
	room    struct{ working }
	mail    struct{ working }
	flushed uint64 // messages of this rank
)

func (room) met(c *Comm) bool      { return c.core.HasRoom() }
func (n flushed) met(c *Comm) bool { return c.core.Flushed(uint64(n)) }

func (flushed) failed(c *Comm) error { return c.core.Err() }

func (mail) met(c *Comm) bool {
	return c.core.Mail() > 0 || c.core.Err() == nil && c.core.Listen() != nil
}

// overlay returns the trees of rootless messages, and in words what ranks have to agree on
// for them.
func (cfg *Config) overlay(alg Algorithm, size int) (overlay schedule.Overlay, agreed string, err error) {
	params := alg.Params
	params.Ranks, params.Root, params.Chunks = size, 0, 0
	spec, err := schedule.New(alg.Name, params)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrInput, err)
	}
	if overlay = spec.Overlay(); overlay == nil {
		return nil, "", fmt.Errorf("%w: %s is not rootless", ErrInput, alg.Name)
	}
	return overlay, fmt.Sprintf("%s with windows of %d messages and %d bytes, and at most %d bytes in each",
		alg.Name, cfg.PublishWindow, cfg.PublishBytes, cfg.MaxMessage), nil
}

// fingerprint returns the hash of what ranks have to agree on; it is never 0.
func fingerprint(agreed string) uint32 {
	f := fnv.New32a()
	_, _ = f.Write([]byte(agreed)) // a hash takes everything
	return f.Sum32() | 1
}
