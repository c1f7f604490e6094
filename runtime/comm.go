package runtime

import (
	"context"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/internal/yield"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// Comm is a communicator: one rank's end of a group of ranks that do
// collective operations together. Every rank must call the same operations in
// the same order; Publish, Next, TryNext and Messages may run beside them, in
// other goroutines.
type Comm struct {
	cfg   Config
	tr    wire.Transport
	clock clock.Clock
	start time.Time // what the core's time counts from
	caps  wire.Caps
	rank  int
	size  int

	crowded bool        // more ranks than cores on this host
	crowd   yield.Crowd // waits if so
	alone   yield.Alone // waits if not

	collective sync.Mutex // held by the goroutine inside Bcast or Barrier

	mu   sync.Mutex // guards all below and the transport's Put, Mcast and Poll
	cond sync.Cond  // something has moved; see await
	core *core.Core

	plans plans
	used  used   // schedules that take the place of what Config says
	cuts  bool   // Config.Bcast has a number of chunks of its own
	head  []byte // of BcastBytes; guarded by collective

	polls   uint
	calls   atomic.Int32 // goroutines inside a call; set under the lock
	behind  background
	parking parking
	watched watched
	closing bool
	noticed bool // that the core has failed
}

// background is what takes over when no call runs.
type background struct {
	entered atomic.Uint64 // calls so far; counted under the lock
	looked  uint64        // entered, when the background last looked
	quiet   time.Duration // until it looks again
	idle    clock.Timer   // nil: there is no background
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

// Join makes the communicator of cfg.Transport's ranks, or, if that is nil, of
// the ranks that the launcher's environment says. It owns the transport from then
// on, also if it returns an error. Nothing of ctx is kept.
func Join(ctx context.Context, cfg Config) (*Comm, error) {
	err := cfg.check()
	if err == nil {
		err = cfg.connect(ctx)
	}
	if err != nil {
		if cfg.Transport != nil {
			_ = cfg.Transport.Close(0, false, 0) // the first error is the one to tell
		}
		return nil, fmt.Errorf("join: %w", err)
	}
	cfg.fill()
	c := &Comm{
		cfg: cfg, tr: cfg.Transport, clock: cfg.Clock, caps: cfg.Transport.Caps(),
		rank: cfg.Transport.Rank(), size: cfg.Transport.Size(), start: cfg.Clock.Now(),
	}
	c.crowded = c.caps.Local > goruntime.NumCPU()
	c.crowd.Index = c.rank
	c.alone.Patience = 2 + 4*(c.rank%goruntime.NumCPU())
	c.cond.L = &c.mu
	c.plans = plans{rank: c.rank, size: c.size}
	if err := c.prepare(ctx); err != nil {
		_ = c.tr.Close(0, false, 0)
		return nil, fmt.Errorf("join: rank %d of %d: %w", c.rank, c.size, err)
	}
	yield.Open()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.behind.quiet = c.cfg.Idle; c.cfg.Idle > 0 {
		c.behind.idle = c.clock.AfterFunc(c.behind.quiet, c.background)
	}
	return c, nil
}

// prepare compiles what every rank will run first and checks the choice of
// algorithms.
func (c *Comm) prepare(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.cuts = cutsItself(c.cfg.Bcast.Name)
	if _, err := c.barrierPlan(); err != nil {
		return err
	}
	if _, err := c.bcastPlan(0, 0); err != nil {
		return err
	}
	overlay, print, err := c.cfg.overlay(c.chosen(schedule.Anycast, c.cfg.Anycast, 0), c.size)
	if err != nil {
		return err
	}
	c.core = core.New(core.Config{
		Rank: c.rank, Size: c.size, ID: c.tr.ID(), Epoch: c.cfg.Epoch, Caps: c.caps,
		Delay: c.cfg.Delay, RootDelay: core.Time(c.cfg.RootDelay),
		Repair: core.Time(c.cfg.Repair), Stall: core.Time(c.cfg.Stall), Retain: c.cfg.Retain,
		Overlay: overlay, CastPrint: print, CastWindow: c.cfg.CastWindow, CastBytes: c.cfg.CastBytes, MaxMessage: c.cfg.MaxMessage,
	}, c.tr)
	return nil
}

// Rank returns this process's number, 0 … Size-1.
func (c *Comm) Rank() int { return c.rank }

// Size returns the number of ranks.
func (c *Comm) Size() int { return c.size }

// Err returns why the communicator has failed, nil while it works.
func (c *Comm) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.core.Err()
}

// Totals counts what a communicator has done since Join.
type Totals struct {
	Operations      uint64 // collective operations completed
	McastChunks     uint64 // chunks of broadcasts that came by multicast first
	PutChunks       uint64 // chunks of broadcasts that came by put first: from the chain, the tree or a repair
	Repairs         uint64 // repair rules carried out
	Doubled         uint64 // signals sent as datagrams too
	Stale           uint64 // frames and datagrams dropped: of past operations, or not fitting
	CastsPublished  uint64 // rootless messages of this rank
	CastsDelivered  uint64 // rootless messages handed to this process
	Transport       wire.Stats
	RootDelay       time.Duration // the present delay of DelayAdaptive
	LastMcastChunks int           // McastChunks of the last broadcast alone
	LastPutChunks   int           // PutChunks of the last broadcast alone
}

// Totals returns the counters.
func (c *Comm) Totals() Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.core.Counters()
	return Totals{
		Operations: n.Operations, McastChunks: n.McastChunks, PutChunks: n.PutChunks,
		LastMcastChunks: n.LastMcastChunks, LastPutChunks: n.LastPutChunks,
		Repairs: n.Repairs, Doubled: n.Doubled, Stale: n.Stale,
		CastsPublished: n.Published, CastsDelivered: n.Delivered,
		RootDelay: time.Duration(n.Delay), Transport: c.tr.Stats(),
	}
}

// Close leaves the communicator: frames that are still queued are sent, the
// peers are told, and the transport is closed. It waits for its peers' systems to
// take what is sent, for Config.Linger at most, and for calls that are running,
// which return ErrClosed; not for the peers' calls. Operations that others start
// later and that need this rank fail there with ErrPeerLeft. A communicator that
// has failed does not wait. Close may be called more than once.
func (c *Comm) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return nil
	}
	c.closing = true
	yield.Close()
	healthy := c.core.Close(ErrClosed)
	if c.behind.idle != nil {
		c.behind.idle.Stop()
	}
	for c.calls.Load() > 0 || c.parking.parked {
		c.wakeAll()
		c.cond.Wait()
	}
	if c.watched.stop != nil {
		c.watched.stop()
	}
	if healthy {
		c.core.Goodbye()
	}
	_, complete := c.core.Seq()
	if err := c.tr.Close(complete, healthy, c.cfg.Linger); err != nil {
		return fmt.Errorf("close rank %d: %w", c.rank, err)
	}
	return nil
}

func (c *Comm) wakeAll() {
	c.cond.Broadcast()
	c.tr.Wake()
}
