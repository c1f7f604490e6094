package runtime

import (
	"context"
	"slices"
	"time"

	"github.com/schedgen/schedgen/runtime/core"
)

// A condition is what a call waits for. It is an interface over long-lived
// values, not a closure, so that waiting does not allocate.
type condition interface {
	met(c *Comm) bool
	failed(c *Comm) error // why it will not be met
}

// working is of conditions that a communicator does not meet any more once it has failed.
type working struct{}

func (working) failed(c *Comm) error { return c.core.Err() }

// enter and leave bracket every call: while one runs, its goroutine drives the
// transport; when none does, the background takes over after a while.
func (c *Comm) enter() {
	c.calls++
	c.drv.calls++
	c.drv.behind.entered++
}

func (c *Comm) leave() {
	d := c.drv
	c.calls--
	d.calls--
	if c.core.Sent() && !d.closing {
		d.flush()
	}
	if c.closing {
		d.cond.Broadcast()
	}
	d.rouse()
}

// maxQuiet is how many times Config.Waiting.Idle the background may look away from a
// driver that was busy at its last looks. Each look wakes a thread, on a
// core that a rank is busy on.
const maxQuiet = 50

// background looks whether calls have been made since its last look. If not,
// it drives until the next one: it forwards, answers and acknowledges while the
// process computes. A timer set again by every call would take over sooner,
// but costs more than a short operation.
//
// It does not wait for the lock: who has it drives, and would be hindered by that.
func (d *driver) background() {
	if !d.mu.TryLock() {
		d.lookLater()
		return
	}
	defer d.mu.Unlock()
	if d.behind.serving {
		return
	}
	if d.calls > 0 || d.behind.entered != d.behind.looked {
		d.behind.looked = d.behind.entered
		d.lookLater()
		return
	}
	d.behind.serving = true
	d.serve()
	d.behind.serving = false
	d.cond.Broadcast()
	d.behind.looked = d.behind.entered
	if !d.closing {
		d.lookSoon()
	}
}

// lookLater has the background look again after twice the time.
func (d *driver) lookLater() {
	d.behind.setting.Lock()
	defer d.behind.setting.Unlock()
	d.behind.quiet = min(2*d.behind.quiet, maxQuiet*d.behind.pace)
	d.behind.idle.Reset(d.behind.quiet)
}

// lookSoon has it look again after the shortest time.
func (d *driver) lookSoon() {
	d.behind.setting.Lock()
	defer d.behind.setting.Unlock()
	d.behind.quiet = d.behind.pace
	d.behind.idle.Reset(d.behind.quiet)
}

// expect has the background look soon, however busy callers were before: an operation is under way that
// goes on without them.
func (d *driver) expect() {
	if d.behind.idle != nil && !d.behind.serving {
		d.lookSoon()
	}
}

// serve drives until somebody else does. A failed communicator still passes on
// why.
func (d *driver) serve() {
	d.parking.driving++
	defer func() { d.parking.driving-- }()
	for d.calls == 0 && !d.closing {
		if !d.poll() {
			d.park(context.Background(), sleeper{})
		}
	}
}

// await drives until w is met, ctx ends or the communicator fails. Many
// goroutines may be in it: one of them polls, or is parked in the transport when that finds
// nothing, and the others sleep until what they wait for is there, or nobody drives. The lock is held, but not
// while parked.
func (c *Comm) await(ctx context.Context, w condition) error {
	d := c.drv
	d.parking.driving++
	defer d.stop()
	sent, moved := false, false
	for idle := 0; ; {
		if w.met(c) {
			return nil
		}
		if err := w.failed(c); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if d.parking.driving > 1 {
			d.sleep(ctx, sleeper{c, w})
			idle = 0
			continue
		}
		if d.awaitFlags(idle) {
			idle = 0
			continue
		}
		if sent, moved = d.turn(sent); moved {
			idle = 0
			continue
		}
		if idle++; idle <= d.wait.Spins() {
			if idle%meanwhilePolls == 0 {
				c.meanwhile()
			}
			d.wait.HandOver(idle, &d.mu, d.crowded())
			continue
		}
		c.meanwhile()
		d.park(ctx, sleeper{c, w})
	}
}

// How often Config.Meanwhile is called: after so many polls that have found nothing, and after
// such a time in which the caller is parked or sleeps. It may cost as much as several polls.
const (
	meanwhilePolls = 16
	meanwhilePause = time.Millisecond
)

// meanwhile does what callers do while they wait, without the lock.
func (c *Comm) meanwhile() {
	if c != nil && c.cfg.Meanwhile != nil {
		c.drv.mu.Unlock()
		c.cfg.Meanwhile()
		c.drv.mu.Lock()
	}
}

// pauses reports whether the call has something to do while it waits.
func (s *sleeper) pauses() bool { return s.comm != nil && s.comm.cfg.Meanwhile != nil }

// turn polls for a call. Where others need the core it only sends, if there is something to be sent, the turn before has not
// been such a one, and somebody has polled since the last such turn: who is to answer may have to run here first, so there is
// hardly anything to be found before that. A root whose calls end with that turn hears of the others, too.
// It reports whether it was such a turn, and as poll does whether to go on at once.
func (d *driver) turn(sent bool) (sends, moved bool) {
	if sent || d.leaving.Flusher == nil || d.polls == d.leaving.polls || !d.wait.Crowded() || !d.leaving.Flush(d) {
		return false, d.poll()
	}
	d.leaving.polls = d.polls
	return true, d.follow(true)
}

// crowded reports whether other goroutines inside calls are awake.
func (d *driver) crowded() bool {
	asleep := len(d.parking.asleep)
	if d.parking.parked {
		asleep++
	}
	return d.calls-asleep > 1
}

// probePolls is after how many polls at the latest a stalled operation is
// noticed, besides before every parking: reading the clock costs as much as
// the rest of a poll that finds nothing.
const probePolls = 64

// poll moves frames and runs what is due, and reports whether anything moved
// or is queued now that the next poll can send.
func (d *driver) poll() bool {
	moved := d.seeFlags() != 0
	moved = d.tr.Poll(d) || moved
	d.polls++
	return d.follow(moved) || moved
}

// flush sends what a call leaves behind. It also looks for what has arrived if nobody has
// since the last flush: a root that never waits hears of the others, too.
func (d *driver) flush() {
	if d.leaving.Flusher == nil || d.polls == d.leaving.polls {
		d.poll()
	} else {
		d.follow(d.leaving.Flush(d))
	}
	d.leaving.polls = d.polls
}

// follow runs what is due after frames have moved, or have not, and reports whether
// anything is queued then, or a request has ended.
func (d *driver) follow(moved bool) (queued bool) {
	for _, c := range d.active {
		c.core.Sent() // what arrivals have queued is sent, too
		if c.core.Timed() || d.polls%probePolls == 0 {
			c.core.Tick(d.now())
		}
		queued = c.core.Work() || queued
		queued = c.serve() || queued
		queued = c.core.Sent() || queued
		c.notice()
	}
	if moved || queued {
		d.tellMoved()
	} else {
		d.rouse() // a timer may have ended a call
	}
	return queued
}

// tellMoved wakes the goroutines whose calls may have ended.
func (d *driver) tellMoved() {
	d.rouse()
	if s := &d.parking.by; d.parking.parked && (s.comm == nil || s.over()) {
		d.tr.Wake() // what the parked goroutine waits for has been taken from under it
	}
}

// notice wakes everybody when the core has failed.
func (c *Comm) notice() {
	if err := c.core.Err(); !c.told.failed && err != nil {
		c.told.failed = true
		c.drv.wakeAll()
		c.logFailure(err)
	}
}

// stalled tells the time to all cores that wait for something, and reports whether
// they have queued anything on that, or a request has ended.
func (d *driver) stalled() (queued bool) {
	for _, c := range d.active {
		if c.core.Sent(); c.core.Waits() {
			c.core.Tick(d.now())
			queued = c.serve() || queued
			c.notice()
			queued = c.core.Sent() || queued
		}
	}
	return queued
}

// due returns when the first of the cores is to be told the time; ok is false if
// none is.
func (d *driver) due() (first core.Time, ok bool) {
	for _, c := range d.active {
		if due, limited := c.core.Due(); limited && (!ok || due < first) {
			first, ok = due, true
		}
	}
	return first, ok
}

// stop notes that a goroutine drives no more. If another one is parked, that looks anew at what to wait for, and
// for how long.
func (d *driver) stop() {
	d.parking.driving--
	if d.parking.parked {
		d.tr.Wake()
	}
	d.rouse()
}

// rouse wakes those that sleep if one of them has something to do. To wake one for each arrival would cost more than the
// arrival.
func (d *driver) rouse() {
	for i := range d.parking.asleep {
		if d.unattended() || d.parking.asleep[i].over() {
			d.cond.Broadcast()
			return
		}
	}
}

// unattended reports whether nobody drives but those that sleep.
func (d *driver) unattended() bool { return !d.parking.parked && d.parking.driving == 0 }

// over reports whether there is nothing more to wait for.
func (s *sleeper) over() bool {
	return s.waits.met(s.comm) || s.waits.failed(s.comm) != nil
}

// sleep waits, beside somebody who drives, until there is something to do for s, or ctx ends, whose end wakes all.
func (d *driver) sleep(ctx context.Context, s sleeper) {
	defer d.watch(ctx)()
	d.parking.asleep = append(d.parking.asleep, s)
	d.stop()
	for ctx.Err() == nil && !d.unattended() && !s.over() {
		if !s.pauses() {
			d.cond.Wait()
			continue
		}
		pause := d.clock.AfterFunc(meanwhilePause, d.cond.Broadcast)
		d.cond.Wait()
		pause.Stop()
		s.comm.meanwhile()
	}
	d.parking.driving++
	i := slices.Index(d.parking.asleep, s)
	d.parking.asleep = slices.Delete(d.parking.asleep, i, i+1)
}

// park waits for by, which is zero for the background, until the transport has something, a timer is due or ctx
// ends; or beside somebody else who does so.
func (d *driver) park(ctx context.Context, by sleeper) {
	d.windows.stray()
	d.windows.lookAround()
	if d.stalled() || by.comm != nil && by.over() {
		return // what the tick has queued is sent first, and what it was waited for may be so by time alone
	}
	d.rouse() // likewise for others
	if d.parking.parked {
		d.sleep(ctx, by)
		return
	}
	defer d.watch(ctx)()
	due, limited := d.due()
	span := time.Duration(-1)
	if limited {
		span = time.Duration(max(0, due-d.now()))
	}
	if by.pauses() && (!limited || span > meanwhilePause) {
		span = meanwhilePause
	}
	d.parking.parked, d.parking.by = true, by
	d.parking.driving--
	d.mu.Unlock()
	d.tr.Wait(span)
	d.mu.Lock()
	d.parking.driving++
	d.parking.parked, d.parking.by = false, sleeper{}
}

// watch has the end of ctx wake whoever is parked, until stop is called. A call
// that is alone leaves its registration for the next one under the same
// context, so that calls need not allocate; the others have their own.
func (d *driver) watch(ctx context.Context) (stop func()) {
	done := ctx.Done()
	if done == nil || done == d.watched.done {
		return nothing
	}
	wake := func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.wakeAll()
	}
	if d.calls > 1 {
		unwatch := context.AfterFunc(ctx, wake)
		return func() { unwatch() }
	}
	if d.watched.stop != nil {
		d.watched.stop()
	}
	d.watched.done, d.watched.stop = done, context.AfterFunc(ctx, wake)
	return nothing
}

func nothing() {}
