package runtime

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/schedule"
)

// Message is a rootless message. Data belongs to the receiver.
type Message = core.Message

// Publish sends msg to all other ranks, which need not expect it (paper 001). Each rank receives it
// exactly once. The messages of one rank arrive in their order; messages of different ranks have no
// order. msg may be reused when Publish returns. Publish waits while other ranks have yet to take
// Config.PublishWindow messages or PublishBytes bytes of this rank. So a rank that never takes its
// messages delays publishers and nothing else, and memory stays bounded. [Comm.Flush] waits until
// messages have arrived.
//
// If msg would have to go through a rank that has closed its communicator, the communicator fails
// with ErrPeerLeft, at once or when msg reaches the rank before that one.
//
// If ctx ends while Publish waits, msg is not sent and the communicator stays intact. If there is
// nothing to wait for, msg is sent even if ctx has ended.
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

// Flush waits until all messages that this rank has published so far are at every rank that has not
// closed the communicator. Next returns them there without further help of this rank or others.
// Flush does not wait until processes have taken them, so all ranks may flush at the same time,
// before they take the others' messages. Messages that other goroutines publish after the call of
// Flush do not count.
//
// If a rank is lost, the communicator fails, and Flush returns an error that names the rank. If
// ranks leave meanwhile, Flush does without their answers where it can know them; otherwise the
// communicator fails with ErrPeerLeft. If ctx ends first, only the waiting ends. If there is
// nothing to wait for, Flush returns nil even if ctx has ended.
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

// Next waits for a rootless message. If ctx ends first, the communicator stays intact; a message
// that has arrived is returned even if ctx has ended. If no message can come any more, because the
// ranks through which messages come here have closed the communicator, Next fails with ErrPeerLeft.
// The communicator then stays intact, too.
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

// TryNext returns a rootless message if there is one, and ok reports whether there is. It does not
// wait. It is no error if no message can come any more.
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
// The loop ends when ctx ends, when the communicator is closed or fails, or when no message can
// come any more. The last turn has that error and no message.
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

// room, mail and flushed are the conditions for which Publish, Next and Flush wait.
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

// overlay returns the trees of rootless messages, whether messages are multicast, and a text of
// everything about them on which ranks must agree.
func (cfg *Config) overlay(alg Algorithm, size int) (overlay schedule.Overlay, multicasts bool, agreed string, err error) {
	params := alg.Params
	params.Ranks, params.Root, params.Chunks = size, 0, 0
	spec, err := cfg.source.spec(alg.Name, params)
	if err != nil {
		return nil, false, "", fmt.Errorf("%w: %w", ErrInput, err)
	}
	if overlay = spec.Overlay(); overlay == nil {
		return nil, false, "", fmt.Errorf("%w: %s is not rootless", ErrInput, alg.Name)
	}
	described := spec.Algorithm()
	return overlay, described.Multicasts(), fmt.Sprintf("%s with windows of %d messages and %d bytes, and at most %d bytes in each",
		alg.Name, cfg.PublishWindow, cfg.PublishBytes, cfg.MaxMessage), nil
}

// fingerprint returns the hash of a text on which ranks must agree. It is never 0.
func fingerprint(agreed string) uint32 {
	f := fnv.New32a()
	_, _ = f.Write([]byte(agreed)) // a hash takes everything
	return f.Sum32() | 1
}
