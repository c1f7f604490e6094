package runtime

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// Comm is a communicator: one rank's end of a group of ranks that do
// collective operations together. Every rank must call or start the same operations
// in the same order; Publish, Next, TryNext and Messages may run beside them, in
// other goroutines.
type Comm struct {
	drv     *driver
	number  uint8    // wire.Header.Comm
	members *members // nil: all ranks of the transport, under their own numbers
	window  *window  // nil: none, frames are all there is
	casting
	cfg  Config
	caps wire.Caps
	ground
	rank int
	size int

	blocking Request // of Bcast and Barrier

	// The driver's lock guards all below.
	core      *core.Core
	busy      bool // a goroutine is inside Bcast or Barrier, or inside a Start
	plans     plans
	exchanges *plan  // see exchange; nil before the first
	used      used   // schedules that take the place of what Config says
	head      []byte // of BcastBytes
	calls     int    // goroutines inside one
	requests
	succession
	closing bool
	told    told
}

// Join makes the communicator of cfg.Transport's ranks, or, if that is nil, of
// the ranks that the launcher's environment says. It owns the transport from then
// on, also if it returns an error. Nothing of ctx is kept.
func Join(ctx context.Context, cfg Config) (*Comm, error) {
	since := clock.OrSystem(cfg.Clock).Now()
	err := cfg.check()
	if err == nil && ctx == nil {
		err = fmt.Errorf("%w: the context is nil", ErrInput)
	}
	if err == nil {
		err = cfg.connect(ctx)
	}
	if err != nil {
		if cfg.Transport != nil {
			_ = cfg.Transport.Close(false, 0) // the first error is the one to tell
		}
		return nil, fmt.Errorf("join: %w", err)
	}
	cfg.fill()
	d := newDriver(&cfg)
	c := &Comm{drv: d, cfg: cfg, caps: d.tr.Caps(), ground: ground{spread: true}, casting: casting{apart: true}, rank: d.tr.Rank(), size: d.tr.Size(), window: d.windows.first(d.tr)}
	err = ctx.Err()
	if err == nil {
		err = c.prepare()
	}
	if err != nil {
		_ = d.tr.Close(false, 0)
		return nil, fmt.Errorf("join: rank %d of %d: %w", c.rank, c.size, err)
	}
	d.run(c)
	c.logJoin("join", cfg.Clock.Now().Sub(since))
	return c, nil
}

// prepare compiles what every rank will run first and checks the choice of
// algorithms.
func (c *Comm) prepare() error {
	if err := c.checkNamed(); err != nil {
		return err
	}
	c.plans = plans{rank: c.rank, size: c.size, rules: rulesWords(c.cfg.Rules), opens: c.opens(), rows: ir.Collectives()}
	c.plans.recent = make([]recent, len(c.plans.rows)<<recentBits)
	if c.window != nil {
		c.plans.reaches, c.plans.together = c.window.all.Reaches, !c.window.remote
	}
	c.place = placeOf(c.caps, c.size)
	if _, err := c.choose(barrier, 0, 0, form{}); err != nil {
		return err
	}
	if _, err := c.choose(bcast, 0, 0, form{}); err != nil {
		return err
	}
	anycast, err := c.chosen(schedule.Anycast, 0, false)
	if err != nil {
		return err
	}
	overlay, agreed, err := c.cfg.overlay(anycast.Algorithm, c.size)
	if err != nil {
		return err
	}
	if c.plans.rules != "" {
		agreed += ", " + c.plans.rules
	}
	net := core.Net(c.drv.tr)
	if c.members != nil {
		net = c.members
	}
	c.core = core.New(core.Config{
		Rank: c.rank, Size: c.size, ID: c.drv.tr.ID(), Epoch: c.cfg.Epoch, Only: c.members == nil, Caps: c.caps,
		Delay: c.cfg.Delay, RootDelay: core.Time(c.cfg.RootDelay),
		Repair: core.Time(c.cfg.Repair), Stall: core.Time(c.cfg.Stall), Silence: core.Time(c.cfg.Silence), Retain: c.cfg.Retain,
		FoldAtOnce: foldAtOnce,
		Causes:     []error{context.DeadlineExceeded, context.Canceled},
		Overlay:    overlay, CastPrint: fingerprint(agreed), CastWords: agreed, CastWindow: c.cfg.CastWindow, CastBytes: c.cfg.CastBytes, MaxMessage: c.cfg.MaxMessage,
		Lost:  func(rank int, err error) { c.drv.lost(c, rank, err) },
		Trace: c.coreTrace(),
	}, c.window.net(net))
	return nil
}

// checkNamed returns an error if an algorithm that Config names cannot run among the ranks of c with
// its parameters.
func (c *Comm) checkNamed() error {
	for _, collective := range slices.Sorted(maps.Keys(c.cfg.Algorithms)) {
		a := c.cfg.Algorithms[collective]
		if a.Name == "" {
			continue
		}
		a.Params.Ranks, a.Params.Root = c.size, 0
		if _, err := schedule.New(a.Name, a.Params); err != nil {
			return fmt.Errorf("%w: Config.Algorithms: %s: %w", ErrInput, collective, err)
		}
	}
	return nil
}

// opens returns what connects this rank with one of c, nil if the transport does without.
func (c *Comm) opens() func(rank int) {
	t, ok := c.drv.tr.(wire.Opener)
	switch {
	case !ok:
		return nil
	case c.members == nil:
		return t.Open
	}
	return func(rank int) { t.Open(c.members.endpoint[rank]) }
}

// Rank returns this process's number, 0 … Size-1.
func (c *Comm) Rank() int { return c.rank }

// Size returns the number of ranks.
func (c *Comm) Size() int { return c.size }

// Err returns why the communicator has failed, nil while it works.
func (c *Comm) Err() error {
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	return c.core.Err()
}

// Totals counts what a communicator has done since Join.
type Totals struct {
	Operations      uint64        `json:"operations"`      // collective operations completed
	McastChunks     uint64        `json:"mcast_chunks"`    // chunks of broadcasts that came by multicast first
	PutChunks       uint64        `json:"put_chunks"`      // chunks of broadcasts that came by put first: from the chain, the tree or a repair
	Repairs         uint64        `json:"repairs"`         // repair rules carried out
	Doubled         uint64        `json:"doubled"`         // signals sent as datagrams too
	Stale           uint64        `json:"stale"`           // frames and datagrams dropped: of past operations, of communicators that are closed, or not fitting
	CastsPublished  uint64        `json:"casts_published"` // rootless messages of this rank
	CastsDelivered  uint64        `json:"casts_delivered"` // rootless messages handed to this process
	Transport       wire.Stats    `json:"transport"`
	RootDelay       time.Duration `json:"root_delay_ns"`     // the present delay of DelayAdaptive
	LastMcastChunks int           `json:"last_mcast_chunks"` // McastChunks of the last broadcast alone
	LastPutChunks   int           `json:"last_put_chunks"`   // PutChunks of the last broadcast alone
}

// Totals returns the counters.
func (c *Comm) Totals() Totals {
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	return c.totals()
}

func (c *Comm) totals() Totals {
	n := c.core.Counters()
	return Totals{
		Operations: n.Operations, McastChunks: n.McastChunks, PutChunks: n.PutChunks,
		LastMcastChunks: n.LastMcastChunks, LastPutChunks: n.LastPutChunks,
		Repairs: n.Repairs, Doubled: n.Doubled, Stale: n.Stale + c.drv.stale,
		CastsPublished: n.Published, CastsDelivered: n.Delivered,
		RootDelay: time.Duration(n.Delay), Transport: c.drv.tr.Stats(),
	}
}

// Close leaves the communicator: frames that are still queued are sent, and the
// peers are told, and why if it has failed. Calls that are running and requests that are
// open end with ErrClosed; if there are any, the communicator fails at the other ranks, with
// ErrPeerLeft. So do operations that others start later and that need this rank, and
// rootless messages of others that would go by it.
//
// Close does not wait for the peers' calls, nor until they have what this rank has published:
// Flush does. It waits, for no longer than Config.Waiting.Linger, until all know what this
// rank has agreed on with [Comm.Agree]. The last communicator of those that share
// a transport closes that too: it waits for the peers' systems to take what is
// sent, and gives up when they take nothing for Config.Waiting.Linger. Close may be called more
// than once.
func (c *Comm) Close() error {
	first, err := c.closeOnce()
	if first {
		c.logClose(err)
	}
	return err
}

// closeOnce closes c unless it is closed, and reports whether it has.
func (c *Comm) closeOnce() (first bool, err error) {
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	c.settle()
	if c.closing {
		return false, nil
	}
	return true, c.close()
}

// close closes c, with the lock held.
func (c *Comm) close() error {
	d := c.drv
	c.closing = true
	c.notice()
	healthy := c.core.Close(ErrClosed)
	c.serve()
	c.guards.stop()
	for c.calls > 0 {
		d.wakeAll()
		d.cond.Wait()
	}
	if c.heir != nil {
		c.heir.desert(ErrClosed)
	}
	d.remove(c, healthy)
	if len(d.active) > 0 {
		d.poll()
		return nil
	}
	if err := d.close(); err != nil {
		return fmt.Errorf("close rank %d: %w", c.rank, err)
	}
	return nil
}

// desert ends a communicator that could not be made at all ranks, and tells them why.
func (c *Comm) desert(err error) {
	c.closing = true
	c.core.Fail("split", 0, &foreignError{err})
	c.notice()
	c.core.Goodbye(false)
	c.drv.drop(c)
}
