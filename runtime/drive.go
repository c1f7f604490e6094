package runtime

import (
	"context"
	"time"

	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/internal/yield"
)

// A condition is what a call waits for. It is an interface over long-lived
// values, not a closure, so that waiting does not allocate.
type condition interface {
	met(c *Comm) bool
}

// enter and leave bracket every call: while one runs, its goroutine drives the
// communicator; when none does, the background takes over after a while.
func (c *Comm) enter() {
	c.calls.Add(1)
	c.behind.entered.Add(1)
}

func (c *Comm) leave() {
	c.calls.Add(-1)
	if c.core.Sent() && !c.closing {
		c.poll()
	}
	if c.parking.sleepers > 0 || c.closing {
		c.cond.Broadcast()
	}
}

// maxQuiet is how many times Config.Idle the background may look away from a
// communicator that was busy at its last looks. Each look wakes a thread, on a
// core that a rank is busy on.
const maxQuiet = 50

// background looks whether calls have been made since its last look. If not,
// it drives until the next one: it forwards, answers and acknowledges while the
// process computes. A timer set again by every call would take over sooner,
// but costs more than a short operation.
//
// It looks without the lock: to wait for one that a busy call only gives up for
// moments takes long, and hinders the call.
func (c *Comm) background() {
	if entered := c.behind.entered.Load(); c.calls.Load() > 0 || entered != c.behind.looked {
		c.behind.looked, c.behind.quiet = entered, min(2*c.behind.quiet, maxQuiet*c.cfg.Idle)
		c.behind.idle.Reset(c.behind.quiet)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.await(context.Background(), duties{}) // a failure is told to the next call
	c.cond.Broadcast()
	c.behind.looked, c.behind.quiet = c.behind.entered.Load(), c.cfg.Idle
	if !c.closing {
		c.behind.idle.Reset(c.behind.quiet)
	}
}

// duties is what the background waits for: that someone else drives. A failed
// communicator still passes on why.
type duties struct{}

func (duties) met(c *Comm) bool { return c.calls.Load() > 0 || c.closing }

// await drives the communicator until w is met, ctx ends or the communicator
// fails. Many goroutines may be in it: each polls when it can do no better, and
// of those that find nothing one is parked in the transport and the others
// sleep until it wakes them. c.mu is held, but not while parked.
func (c *Comm) await(ctx context.Context, w condition) error {
	_, serving := w.(duties)
	for idle := 0; ; {
		if w.met(c) {
			return nil
		}
		if err := c.core.Err(); err != nil && !serving {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if c.poll() {
			idle = 0
			continue
		}
		if idle++; idle <= c.spins() && !serving {
			c.handOver(idle)
			continue
		}
		c.park(ctx)
	}
}

// ownPolls is after how many polls in vain a rank with a core of its own lets
// go of the lock, and of the core.
const ownPolls = 8

// handOver lets others run after the poll number idle that has found nothing.
func (c *Comm) handOver(idle int) {
	switch {
	case c.crowded || yield.Shared():
		if c.crowded {
			c.crowd.Look()
		}
		c.mu.Unlock()
		yield.Rank()
		c.mu.Lock()
	case idle == ownPolls:
		c.alone.Begin()
	case idle%ownPolls == 0:
		c.alone.Wait(&c.mu)
	}
}

// sharedSpins is how many polls in vain are worth it among goroutines: handing
// over to one that is ready costs less than a poll.
const sharedSpins = 8

func (c *Comm) spins() int {
	if yield.Shared() {
		return min(c.cfg.Spin, sharedSpins)
	}
	return c.cfg.Spin
}

// probePolls is after how many polls at the latest a stalled operation is
// noticed, besides before every parking: reading the clock costs as much as
// the rest of a poll that finds nothing.
const probePolls = 64

// poll moves frames and runs what is due, and reports whether anything moved
// or is queued now that the next poll can send.
func (c *Comm) poll() bool {
	moved := c.tr.Poll(c.core)
	c.core.Sent() // what arrivals have queued is sent, too
	if c.polls++; c.core.Timed() || c.polls%probePolls == 0 {
		c.core.Tick(c.now())
	}
	moved = c.core.Sent() || moved
	c.notice()
	if moved && c.parking.sleepers > 0 {
		c.cond.Broadcast()
	}
	if moved && c.parking.parked {
		c.tr.Wake() // what the parked goroutine waits for may have been taken from under it
	}
	return moved
}

// notice wakes everybody when the core has failed.
func (c *Comm) notice() {
	if !c.noticed && c.core.Err() != nil {
		c.noticed = true
		c.wakeAll()
	}
}

// now is the time as the core knows it.
func (c *Comm) now() core.Time { return core.Time(c.clock.Now().Sub(c.start)) + 1 }

// park waits until the transport has something, a timer is due or ctx ends.
func (c *Comm) park(ctx context.Context) {
	if c.core.Sent(); c.core.Inside() {
		c.core.Tick(c.now())
		if c.notice(); c.core.Sent() {
			return // what the tick has queued is sent first
		}
	}
	defer c.watch(ctx)()
	due, limited := c.core.Due()
	if c.parking.parked {
		if limited && (c.parking.until == 0 || due < c.parking.until) {
			c.tr.Wake() // so that somebody parks with the earlier limit
		}
		c.parking.sleepers++
		c.cond.Wait()
		c.parking.sleepers--
		return
	}
	d := time.Duration(-1)
	c.parking.until = 0
	if limited {
		c.parking.until = due
		d = time.Duration(max(0, due-c.now()))
	}
	c.parking.parked = true
	c.mu.Unlock()
	c.tr.Wait(d)
	c.mu.Lock()
	c.parking.parked = false
	if c.parking.sleepers > 0 {
		c.cond.Broadcast()
	}
}

// watch has the end of ctx wake whoever is parked, until stop is called. A call
// that is alone leaves its registration for the next one under the same
// context, so that calls need not allocate; the others have their own.
func (c *Comm) watch(ctx context.Context) (stop func()) {
	done := ctx.Done()
	if done == nil || done == c.watched.done {
		return nothing
	}
	wake := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wakeAll()
	}
	if c.calls.Load() > 1 {
		unwatch := context.AfterFunc(ctx, wake)
		return func() { unwatch() }
	}
	if c.watched.stop != nil {
		c.watched.stop()
	}
	c.watched.done, c.watched.stop = done, context.AfterFunc(ctx, wake)
	return nothing
}

func nothing() {}
