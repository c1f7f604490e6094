package runtime

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/internal/yield"
	"github.com/schedgen/schedgen/runtime/wire"
)

// driver moves the frames of one transport for all communicators that share it,
// and waits for them. Goroutines inside calls drive, whichever communicator they
// have called; while there are none, the background does.
type driver struct {
	tr    wire.Transport
	clock Clock
	start time.Time // what the cores' time counts from
	wait  *yield.Waiter
	pace  time.Duration // Config.Idle

	mu   sync.Mutex // guards all below, the communicators and the transport's Put, Mcast and Poll
	cond sync.Cond  // something has moved; see await

	comms  [maxComms]*Comm // by wire.Header.Comm
	active []*Comm         // those of them that there are
	stale  uint64          // frames dropped: of communicators that there are not

	polls   uint
	calls   atomic.Int32 // goroutines inside a call; set under the lock
	behind  background
	parking parking
	watched watched
	closing bool
}

// maxComms is how many communicators may share a transport: wire.Header.Comm is a
// byte.
const maxComms = 1 << 8

// background is what takes over when no call runs.
type background struct {
	entered atomic.Uint64 // calls so far; counted under the lock
	looked  uint64        // entered, when the background last looked
	quiet   time.Duration // until it looks again
	idle    Timer
}

// parking is who waits, of the goroutines inside calls.
type parking struct {
	sleepers int       // in cond.Wait
	parked   bool      // one is in the transport's Wait
	until    core.Time // when that ends; 0: without limit
}

// watched is the context whose end wakes whoever is parked.
type watched struct {
	done <-chan struct{}
	stop func() bool
}

// newDriver returns the driver of cfg's transport, which does nothing before run.
func newDriver(cfg *Config) *driver {
	d := &driver{tr: cfg.Transport, clock: cfg.Clock, start: cfg.Clock.Now(), pace: cfg.Idle}
	d.cond.L = &d.mu
	return d
}

// run begins to drive c, the first communicator.
func (d *driver) run(c *Comm) {
	d.wait = yield.New(yield.Options{
		Process: yield.This(), Now: d.clock.Now, Index: c.rank, Ranks: c.caps.Local, Cores: goruntime.NumCPU(),
		Spin: c.cfg.Spin, Stay: c.cfg.Stay,
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(c)
	d.behind.quiet = d.pace
	d.behind.idle = d.clock.AfterFunc(d.behind.quiet, d.background)
}

// add begins to drive one more communicator.
func (d *driver) add(c *Comm) {
	d.comms[c.number] = c
	d.active = append(d.active, c)
}

// now is the time as the cores know it.
func (d *driver) now() core.Time { return core.Time(d.clock.Now().Sub(d.start)) + 1 }

func (d *driver) wakeAll() {
	d.cond.Broadcast()
	d.tr.Wake()
}

// linger is how long the transport's Close waits for what is still to be sent.
const linger = 2 * time.Second

// close ends the driver with its last communicator: seq and bye are told to the
// peers.
func (d *driver) close(seq uint64, bye bool) error {
	if d.watched.stop != nil {
		d.watched.stop()
	}
	return d.tr.Close(seq, bye, linger)
}
