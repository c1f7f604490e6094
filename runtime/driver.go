package runtime

import (
	"errors"
	goruntime "runtime"
	"slices"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/internal/transport/yield"
	"github.com/schedgen/schedgen/runtime/wire"
)

// driver moves the frames of one transport for all communicators that share it, and waits for
// frames. Goroutines inside calls of any of these communicators drive. While there are none, the
// background drives.
type driver struct {
	tr      wire.Transport
	leaving leaving
	windows windowSets
	groups  wire.Groups // the transport; nil: it has only the group of all ranks
	clock   clock.Clock
	start   time.Time // zero of the cores' time
	wait    *yield.Waiter
	linger  time.Duration // Config.Waiting.Linger

	mu   sync.Mutex // guards all fields below, the communicators and the transport's Put, Mcast and Poll
	cond sync.Cond  // something has moved; see await

	comms  [maxComms]*Comm // by wire.Header.Comm
	active []*Comm         // the entries of comms that are not nil
	ends   []peerEnd       // how the connections with each endpoint have ended
	silent []error         // by endpoint, including this one: why it is lost although its connections stand; nil: it is not
	gone   map[int]bool    // endpoints that a communicator has lost
	stale  uint64          // frames dropped: of no communicator here, or from no member

	numbers numbers
	learned learnedFile

	polls   uint
	calls   int // goroutines inside a call
	behind  background
	parking parking
	watched watched
	closing bool
}

// leaving sends the frames that a call leaves behind.
type leaving struct {
	wire.Flusher      // the transport; nil: it is no Flusher
	polls        uint // driver.polls at the last flush
}

// maxComms is how many communicators may share a transport: wire.Header.Comm is a byte.
const maxComms = 1 << 8

// background takes over when no call runs.
type background struct {
	pace    time.Duration // Config.Waiting.Idle
	entered uint64        // calls so far
	looked  uint64        // value of entered when the background last looked
	serving bool          // it drives now
	idle    clock.Timer   // nil: there is no background
	setting sync.Mutex    // held while idle is set
	quiet   time.Duration // time until the next look, as set last
	answers bool          // a communicator answers questions; guarded by setting, like quiet
}

// parking says which goroutines inside calls wait.
type parking struct {
	driving int       // goroutines inside await or serve that are neither asleep nor parked
	asleep  []sleeper // calls inside cond.Wait
	parked  bool      // one goroutine is inside the transport's Wait
	by      sleeper   // the call of the parked goroutine; zero: the background
}

// sleeper is a call that sleeps.
type sleeper struct {
	comm  *Comm
	waits condition
}

// watched is the context that wakes the parked goroutine when it ends.
type watched struct {
	done <-chan struct{}
	stop func() bool
}

// peerEnd is how the connections with a peer have ended; zero: they stand.
type peerEnd struct {
	how wire.End
	err error
}

// newDriver returns the driver of cfg's transport. The driver is idle until run.
func newDriver(cfg *Config) *driver {
	d := &driver{tr: cfg.Transport, gone: make(map[int]bool), clock: cfg.Clock, start: cfg.Clock.Now(), behind: background{pace: cfg.Waiting.Idle}, linger: cfg.Waiting.Linger, numbers: numbers{generation: cfg.Epoch}}
	d.ends = make([]peerEnd, cfg.Transport.Size())
	d.silent = make([]error, cfg.Transport.Size())
	d.cond.L = &d.mu
	d.leaving.Flusher, _ = cfg.Transport.(wire.Flusher)
	d.groups, _ = cfg.Transport.(wire.Groups)
	return d
}

// startWith starts the driver with c, its first communicator.
func (d *driver) startWith(c *Comm) {
	process := yield.This()
	if c.cfg.Meanwhile != nil {
		process = new(yield.Process)
	}
	d.wait = yield.New(yield.Options{
		Process: process, Now: d.clock.Now, Yield: time.Duration(c.caps.Pace.Or().Yield), Index: c.rank, Ranks: c.caps.Local, Cores: goruntime.NumCPU(),
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

// add adds a communicator to drive. A communicator that already has its number is its predecessor.
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

// lost records that communicator by has lost a rank. If the rank is silent, all communicators lose
// it, since no connection tells them. Other losses concern by alone: the rank left while Shrink was
// making by, or the driver itself has told all communicators.
func (d *driver) lost(by *Comm, rank int, err error) {
	endpoint := by.endpointOf(rank)
	d.gone[endpoint] = true
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

// drop removes c from the driver, which drops later frames of c.
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

// remove tells the peers that c is closed, in good order or not, and drops c.
func (d *driver) remove(c *Comm, healthy bool) {
	c.core.Goodbye(healthy)
	d.drop(c)
}

// free returns the numbers that no communicator has. The first communicator's number is never free:
// its ranks are the transport's.
func (d *driver) free() (m mask) {
	for n := 1; n < maxComms; n++ {
		if d.comms[n] == nil {
			m.add(uint8(n))
		}
	}
	return m
}

// now returns the current time of the cores.
func (d *driver) now() core.Time { return core.Time(d.clock.Now().Sub(d.start)) + 1 }

func (d *driver) wakeAll() {
	d.cond.Broadcast()
	d.tr.Wake()
}

// close ends the driver, which has no communicators left. It ends connections in good order, even
// if a communicator has failed, since its reason is still under way. Only the connections of a
// process that dies break.
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
	d.unwatch()
	return errors.Join(d.tr.Close(true, d.linger), d.learned.write())
}
