package runtime

import (
	"context"
	"slices"
	"time"

	"github.com/schedgen/schedgen/internal/core"
)

// A condition ends the wait of a call. It is an interface over long-lived values, not a closure, so
// that waiting does not allocate.
type condition interface {
	met(c *Comm) bool
	failed(c *Comm) error // why it cannot be met any more, or nil
}

// working is embedded in conditions that cannot be met after the communicator has failed.
type working struct{}

func (working) failed(c *Comm) error { return c.core.Err() }

// enter and leave bracket every call. The goroutine of a call drives the transport; when no call
// runs, the background takes over after a while.
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

// maxQuiet is the longest interval between looks of the background, in units of
// Config.Waiting.Idle. The interval grows while calls are busy, since each look wakes a thread on a
// core that a rank uses.
const maxQuiet = 50

// answeringQuiet is the same for a rank that answers questions: others wait for its background.
const answeringQuiet = 5

// background drives if no call has been made since its last look: it forwards, answers and
// acknowledges while the process computes. Resetting the timer in every call would take over
// sooner, but costs more than a short operation.
//
// background does not wait for the lock: the holder drives already, and waiting would slow it down.
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
		d.lookAgain()
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

// lookAgain schedules the next look after one that has found calls. A rank that answers questions
// looks again soon if none of the calls runs any more, because that may have been the last one.
func (d *driver) lookAgain() {
	d.behind.setting.Lock()
	answers := d.behind.answers
	d.behind.setting.Unlock()
	if answers && d.calls == 0 {
		d.lookSoon()
	} else {
		d.lookLater()
	}
}

// lookLater schedules the next look after twice the last interval, at most maxQuiet or
// answeringQuiet times the shortest.
func (d *driver) lookLater() {
	d.behind.setting.Lock()
	defer d.behind.setting.Unlock()
	most := time.Duration(maxQuiet)
	if d.behind.answers {
		most = answeringQuiet
	}
	d.behind.quiet = min(2*d.behind.quiet, most*d.behind.pace)
	d.behind.idle.Reset(d.behind.quiet)
}

// lookSoon schedules the next look after the shortest interval.
func (d *driver) lookSoon() {
	d.behind.setting.Lock()
	defer d.behind.setting.Unlock()
	d.behind.quiet = d.behind.pace
	d.behind.idle.Reset(d.behind.quiet)
}

// expect schedules the next look soon, however busy callers were: an operation is under way that
// makes progress without them.
func (d *driver) expect() {
	if d.behind.idle != nil && !d.behind.serving {
		d.lookSoon()
	}
}

// serve drives until another goroutine does. A failed communicator still passes its reason on.
func (d *driver) serve() {
	d.parking.driving++
	defer func() { d.parking.driving-- }()
	for d.calls == 0 && !d.closing {
		if !d.poll() {
			d.park(context.Background(), sleeper{})
		}
	}
}

// await drives until w is met, ctx ends or the communicator fails. Several goroutines may be inside
// await: one polls, or is parked in the transport when polling finds nothing. The others sleep
// until their condition is met or no goroutine drives. The caller holds the lock; await releases it
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
		if idle++; sent || idle <= d.wait.Spins() { // a frame may be held, about which the system tells nothing
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

// Config.Meanwhile is called after meanwhilePolls polls that have found nothing, and after each
// meanwhilePause in which the caller is parked or sleeps. It may cost as much as several polls.
const (
	meanwhilePolls = 16
	meanwhilePause = time.Millisecond
)

// meanwhile calls Config.Meanwhile without the lock.
func (c *Comm) meanwhile() {
	if c != nil && c.cfg.Meanwhile != nil {
		c.drv.mu.Unlock()
		c.cfg.Meanwhile()
		c.drv.mu.Lock()
	}
}

// pauses reports whether the call must call Config.Meanwhile while it waits.
func (s *sleeper) pauses() bool { return s.comm != nil && s.comm.cfg.Meanwhile != nil }

// turn polls for a call, or only sends. It only sends if there are frames to send, the last turn did
// not only send, and someone has polled since the last turn that only sent: a root whose calls all
// end with such a turn must still hear the others. A call that ends with the send then reads nothing
// in vain, and where ranks share cores, the rank that answers may have to run on this core first.
// sends reports whether turn only sent; moved reports, like poll, whether to go on at once.
func (d *driver) turn(sent bool) (sends, moved bool) {
	if sent || d.leaving.Flusher == nil || d.polls == d.leaving.polls || !d.leaving.Flush(d) {
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

// probePolls is after how many polls the cores get the time, besides before every parking. Reading
// the clock costs as much as the rest of a poll that finds nothing.
const probePolls = 64

// poll moves frames and runs the work that is due. It reports whether anything moved, or is queued
// for the next poll to send.
func (d *driver) poll() bool {
	moved := d.seeFlags() != 0
	moved = d.tr.Poll(d) || moved
	d.polls++
	return d.follow(moved) || moved
}

// flush sends the frames that a call leaves behind. If no goroutine has polled since the last
// flush, it polls: a root that never waits must still hear the others.
func (d *driver) flush() {
	if d.leaving.Flusher == nil || d.polls == d.leaving.polls {
		d.poll()
	} else {
		d.follow(d.leaving.Flush(d))
	}
	d.leaving.polls = d.polls
}

// follow runs the work that is due after a poll. It reports whether frames are queued, or a request
// has ended.
func (d *driver) follow(moved bool) (queued bool) {
	for _, c := range d.active {
		c.core.Sent() // first sends the frames that arrivals have queued
		if c.core.Timed() || d.polls%probePolls == 0 {
			c.core.Tick(d.now())
		}
		queued = c.core.Work() || queued
		queued = c.serve() || queued
		queued = c.core.Sent() || queued
		c.notice()
		c.attend()
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
		d.tr.Wake() // another goroutine has taken what the parked goroutine waits for
	}
}

// notice wakes all goroutines when the core has failed.
func (c *Comm) notice() {
	if err := c.core.Err(); !c.told.failed && err != nil {
		c.told.failed = true
		c.drv.wakeAll()
		c.logFailure(err)
	}
}

// stalled gives the time to all cores that wait, and reports whether they have queued frames, or a
// request has ended. by is the call that is about to be parked.
func (d *driver) stalled(by sleeper) (queued bool) {
	for _, c := range d.active {
		if c.core.Sent(); c.core.Waits() {
			now := d.now()
			c.core.Tick(now)
			queued = c.serve() || queued
			c.notice()
			c.attend()
			queued = c.core.Sent() || queued
			if c.cfg.Observe.Log != nil {
				c.watchWait(now, d.waitsFor(c, by))
			}
		}
	}
	return queued
}

// waitsFor reports whether a call waits for a request of c. by is as in stalled.
func (d *driver) waitsFor(c *Comm, by sleeper) bool {
	if by.inRequest(c) || d.parking.parked && d.parking.by.inRequest(c) {
		return true
	}
	for i := range d.parking.asleep {
		if d.parking.asleep[i].inRequest(c) {
			return true
		}
	}
	return false
}

// inRequest reports whether s waits for a request of c.
func (s *sleeper) inRequest(c *Comm) bool {
	if s.comm != c {
		return false
	}
	r, ok := s.waits.(*Request)
	return ok && !r.ended
}

// due returns the earliest time at which a core needs the time, or a warning is due; ok is false if
// there is none.
func (d *driver) due() (first core.Time, ok bool) {
	for _, c := range d.active {
		if due, limited := c.core.Due(); limited && (!ok || due < first) {
			first, ok = due, true
		}
		if due, limited := c.patience.due(); limited && c.core.Inside() && (!ok || due < first) {
			first, ok = due, true
		}
	}
	return first, ok
}

// stop records that a goroutine no longer drives. A parked goroutine then looks anew at what to
// wait for, and for how long.
func (d *driver) stop() {
	d.parking.driving--
	if d.parking.parked {
		d.tr.Wake()
	}
	d.rouse()
}

// rouse wakes the sleepers if one of them has something to do. Waking one for each arrival would
// cost more than the arrival.
func (d *driver) rouse() {
	for i := range d.parking.asleep {
		if d.unattended() || d.parking.asleep[i].over() {
			d.cond.Broadcast()
			return
		}
	}
}

// unattended reports whether all driving goroutines are asleep.
func (d *driver) unattended() bool { return !d.parking.parked && d.parking.driving == 0 }

// over reports whether the wait of s has ended.
func (s *sleeper) over() bool {
	return s.waits.met(s.comm) || s.waits.failed(s.comm) != nil
}

// sleep waits, while another goroutine drives, until s has something to do or ctx ends. The end of
// ctx wakes all sleepers.
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

// park waits for by, or for the background if by is zero, until the transport has something, a
// timer is due or ctx ends. If another goroutine is parked already, park sleeps.
func (d *driver) park(ctx context.Context, by sleeper) {
	d.windows.stray()
	d.windows.lookAround()
	if d.stalled(by) || by.comm != nil && by.over() {
		return // the frames that the tick queued go first; time alone may have ended the wait of by
	}
	d.rouse() // time alone may have ended other waits, too
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

// watch wakes the waiting goroutines when ctx ends, until the caller calls stop. If only one call
// runs, it leaves its registration to the next call under the same context, so that calls need not
// allocate. Concurrent calls have registrations of their own.
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
	d.unwatch()
	d.watched.done, d.watched.stop = done, context.AfterFunc(ctx, wake)
	return nothing
}

// unwatch ends the registration that watch has left.
func (d *driver) unwatch() {
	if d.watched.stop != nil {
		d.watched.stop()
	}
	d.watched.done, d.watched.stop = nil, nil
}

func nothing() {}
