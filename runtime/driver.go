package runtime

import (
	"errors"
	goruntime "runtime"
	"slices"
	"sync"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/internal/yield"
	"github.com/schedgen/schedgen/runtime/wire"
)

// driver moves the frames of one transport for all communicators that share it,
// and waits for them. Goroutines inside calls drive, whichever communicator they
// have called; while there are none, the background does.
type driver struct {
	tr      wire.Transport
	leaving leaving
	windows windowSets
	groups  wire.Groups // the transport; nil: it has none but that of all ranks
	clock   clock.Clock
	start   time.Time // what the cores' time counts from
	wait    *yield.Waiter
	linger  time.Duration // Config.Waiting.Linger

	mu   sync.Mutex // guards all below, the communicators and the transport's Put, Mcast and Poll
	cond sync.Cond  // something has moved; see await

	comms  [maxComms]*Comm // by wire.Header.Comm
	active []*Comm         // those of them that there are
	ends   []peerEnd       // how connections with peers have ended, by endpoint
	silent []error         // by endpoint, this one too: why it is lost, though no connection says so; nil: it is not
	stale  uint64          // frames dropped: of communicators that there are not, or not of members

	numbers numbers

	polls   uint
	calls   int // goroutines inside a call
	behind  background
	parking parking
	watched watched
	closing bool
}

// leaving is how what a call leaves behind is sent.
type leaving struct {
	wire.Flusher      // the transport; nil: it is none
	polls        uint // the driver's, at the last flush
}

// maxComms is how many communicators may share a transport: wire.Header.Comm is a
// byte.
const maxComms = 1 << 8

// background is what takes over when no call runs.
type background struct {
	pace    time.Duration // Config.Waiting.Idle
	entered uint64        // calls so far
	looked  uint64        // entered, when the background last looked
	serving bool          // it drives
	idle    clock.Timer   // nil: there is no background
	setting sync.Mutex    // held while idle is set
	quiet   time.Duration // until it looks again, as set last
}

// parking is who waits, of the goroutines inside calls.
type parking struct {
	driving int       // inside await or serve, and neither asleep nor parked
	asleep  []sleeper // in cond.Wait
	parked  bool      // one is in the transport's Wait
	by      sleeper   // whose call that is; zero: the background's
}

// sleeper is a call that sleeps.
type sleeper struct {
	comm  *Comm
	waits condition
}

// watched is the context whose end wakes whoever is parked.
type watched struct {
	done <-chan struct{}
	stop func() bool
}

// peerEnd is how connections with a peer have ended; the zero value if they have not.
type peerEnd struct {
	how wire.End
	err error
}

// newDriver returns the driver of cfg's transport, which does nothing before run.
func newDriver(cfg *Config) *driver {
	d := &driver{tr: cfg.Transport, clock: cfg.Clock, start: cfg.Clock.Now(), behind: background{pace: cfg.Waiting.Idle}, linger: cfg.Waiting.Linger, numbers: numbers{generation: cfg.Epoch}}
	d.ends = make([]peerEnd, cfg.Transport.Size())
	d.silent = make([]error, cfg.Transport.Size())
	d.cond.L = &d.mu
	d.leaving.Flusher, _ = cfg.Transport.(wire.Flusher)
	d.groups, _ = cfg.Transport.(wire.Groups)
	return d
}

// run begins to drive c, the first communicator.
func (d *driver) run(c *Comm) {
	process := yield.This()
	if c.cfg.Meanwhile != nil {
		process = new(yield.Process)
	}
	d.wait = yield.New(yield.Options{
		Process: process, Now: d.clock.Now, Index: c.rank, Ranks: c.caps.Local, Cores: goruntime.NumCPU(),
		Spin: c.cfg.Waiting.Spin, Stay: c.cfg.Waiting.Stay,
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(c)
	if d.behind.quiet = d.behind.pace; d.behind.pace > 0 {
		d.behind.setting.Lock()
		d.behind.idle = d.clock.AfterFunc(d.behind.quiet, d.background)
		d.behind.setting.Unlock()
	}
}

// add begins to drive one more communicator. One with its number is its predecessor.
func (d *driver) add(c *Comm) {
	d.windows.add(c)
	c.old = d.comms[c.number]
	d.comms[c.number] = c
	d.active = append(d.active, c)
	for endpoint, e := range d.ends {
		if rank, member := c.rankOf(endpoint); member && e.how != 0 {
			c.core.Ended(rank, e.how, e.err)
		}
	}
	for endpoint, err := range d.silent {
		if rank, member := c.rankOf(endpoint); member && err != nil {
			c.core.Lose(rank, err)
		}
	}
}

// lost takes that by has found, or heard, that a rank of it is lost. A rank that is silent is so for all
// communicators, and no connection tells them. Other losses do not concern them: a rank may have left while by was
// made by Shrink, or the driver itself has told all.
func (d *driver) lost(by *Comm, rank int, err error) {
	endpoint := by.endpointOf(rank)
	if d.silent[endpoint] != nil || !errors.Is(err, ErrPeerSilent) {
		return
	}
	d.silent[endpoint] = err
	for _, c := range d.active {
		if rank, member := c.rankOf(endpoint); member && c != by {
			c.core.Lose(rank, err)
		}
	}
}

// drop ends that: what still comes for c is dropped.
func (d *driver) drop(c *Comm) {
	d.windows.drop(c.window)
	d.windows.release(&c.offered)
	switch present := d.comms[c.number]; {
	case present != c:
		present.old = nil
	default:
		d.comms[c.number] = c.old
	}
	d.active = slices.DeleteFunc(d.active, func(other *Comm) bool { return other == c })
	if d.comms[c.number] == nil {
		if c.group != nil {
			c.group.Leave()
		}
		if len(d.active) > 0 {
			d.tr.Forget(c.number)
		}
	}
}

// remove ends c, which is closed in good order or not, and has it say so.
func (d *driver) remove(c *Comm, healthy bool) {
	c.core.Goodbye(healthy)
	d.drop(c)
}

// free returns the numbers of communicators that there are not. That of the first one
// is not used again: its ranks are the transport's.
func (d *driver) free() (m mask) {
	for n := 1; n < maxComms; n++ {
		if d.comms[n] == nil {
			m.add(uint8(n))
		}
	}
	return m
}

// now is the time as the cores know it.
func (d *driver) now() core.Time { return core.Time(d.clock.Now().Sub(d.start)) + 1 }

func (d *driver) wakeAll() {
	d.cond.Broadcast()
	d.tr.Wake()
}

// close ends the driver, which has no communicator any more. Connections end in good
// order also if a communicator has failed: what it tells of that is still under way.
// Only those of a process that dies break.
func (d *driver) close() error {
	d.closing = true
	d.wait.Close()
	if d.behind.idle != nil {
		d.behind.idle.Stop()
	}
	for d.parking.parked {
		d.wakeAll()
		d.cond.Wait()
	}
	if d.watched.stop != nil {
		d.watched.stop()
	}
	return d.tr.Close(true, d.linger)
}
