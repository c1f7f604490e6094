package runtime

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// Comm is a communicator: one rank's end of a group of ranks that do collective operations
// together. Every rank must call or start the same operations in the same order. Publish, Flush,
// Next, TryNext, Messages, Ask, Agree and State may run at the same time in other goroutines.
type Comm struct {
	drv     *driver
	number  uint8    // wire.Header.Comm
	members *members // nil: the members are all ranks of the transport, under their own numbers
	window  *window  // nil: the transport has no windows and moves only frames
	casting
	electorate
	cfg  Config
	caps wire.Caps
	rank int
	size int

	general selection.Case // of all operations; caseOf adds what one of them is

	blocking Request     // the request of Bcast and Barrier
	lengths  lengths     // of the blocking call, before which those of lessons may run
	raised   atomic.Bool // a call has passed the panic of a Fold's Kernel on

	// The driver's lock guards all fields below.
	core      *core.Core
	busy      bool // a goroutine is inside Bcast or Barrier, or inside a Start
	plans     plans
	exchanges map[string]*plan  // plans of exchange, by what the ranks make: split or dup
	used      used              // schedules that replace the choice of Config
	head      []byte            // the head of BcastBytes
	notes     map[string]string // see bounded
	calls     int               // goroutines inside a call
	requests
	succession
	answering answering
	closing   bool
	told      told
	patience  patience
	latencies latencies
	learned   learner // nil: Config.Learn is not set
	ran       *plan   // see Ran; nil: no collective
}

// Join connects the ranks that the launcher's environment names, unless cfg.Transport is set, and
// makes their communicator. It makes schedules for cfg.Network, if that is set. Join owns the
// transport, also if it returns an error. The communicator does not keep ctx.
//
// If Join fails at one rank, it tells the others, which takes at most a few seconds. Their
// communicators fail with an error that names the rank and its reason; while ranks meet, their Join
// fails in this way.
func Join(ctx context.Context, cfg Config) (*Comm, error) {
	since := clock.OrSystem(cfg.Clock).Now()
	err := cfg.check(ctx)
	if ctx == nil {
		ctx = context.Background()
	}
	if err == nil {
		err = cfg.prefer(ctx)
	}
	if cfg.Transport == nil {
		if err = cfg.connect(ctx, err); err != nil {
			return nil, fmt.Errorf("join: %w", err)
		}
	}
	cfg.source = everything{}
	return cfg.make(ctx, since, err)
}

// New makes the communicator of cfg.Transport's ranks, and takes nothing from the environment. A
// program that calls New and not Join carries neither launchers and their transports, nor
// rules, nor other algorithms than those of its catalog. cfg.Transport and cfg.Catalog must be set,
// and cfg.Network, cfg.Rules and cfg.Learn must not. New owns the transport, and tells the other
// ranks of an error, as Join does.
func New(ctx context.Context, cfg Config) (*Comm, error) {
	if cfg.Transport == nil {
		return nil, fmt.Errorf("join: %w: Config.Transport: New needs one", ErrInput)
	}
	err := cfg.check(ctx)
	if ctx == nil {
		ctx = context.Background()
	}
	switch {
	case err != nil:
	case cfg.Network != nil:
		err = fmt.Errorf("%w: Config.Network: only Join makes schedules for networks", ErrInput)
	case cfg.Rules != nil:
		err = fmt.Errorf("%w: Config.Rules: only Join uses rules", ErrInput)
	case cfg.Learn != "":
		err = fmt.Errorf("%w: Config.Learn: only Join chooses among algorithms", ErrInput)
	case cfg.Catalog == nil:
		err = fmt.Errorf("%w: Config.Catalog: New needs one", ErrInput)
	}
	cfg.source = catalog(cfg.Catalog)
	return cfg.make(ctx, clock.OrSystem(cfg.Clock).Now(), err)
}

// make makes the communicator, unless err says why this rank cannot: then make tells the others.
// since is when the ranks began to meet.
func (cfg *Config) make(ctx context.Context, since time.Time, err error) (*Comm, error) {
	if err == nil {
		err = ctx.Err()
	}
	var c *Comm
	if err == nil {
		c, err = first(*cfg)
	}
	if err != nil {
		rank, size := cfg.Transport.Rank(), cfg.Transport.Size()
		abstain(cfg, err)
		return nil, fmt.Errorf("join: rank %d of %d: %w", rank, size, err)
	}
	c.drv.startWith(c)
	c.logJoin("join", c.cfg.Clock.Now().Sub(since))
	return c, nil
}

// first makes the communicator of all ranks of cfg.Transport.
func first(cfg Config) (*Comm, error) {
	cfg.fill()
	d := newDriver(&cfg)
	c := &Comm{drv: d, cfg: cfg, caps: d.tr.Caps(), casting: casting{apart: true}, rank: d.tr.Rank(), size: d.tr.Size(), window: d.windows.first(d.tr)}
	return c, c.setUp(true)
}

// abstain tells the other ranks why this one has no communicator: it makes one with the defaults,
// fails it and closes it.
func abstain(cfg *Config, why error) {
	c, err := first(Config{Transport: cfg.Transport, Epoch: cfg.Epoch, Clock: cfg.Clock, source: cfg.source})
	if err != nil { // the others see that this rank has gone
		_ = cfg.Transport.Close(false, 0)
		return
	}
	c.drv.startWith(c)
	c.drv.mu.Lock()
	c.failFor("join", why)
	c.drv.mu.Unlock()
	_ = c.Close() // the caller gets the first error
}

// setUp makes the core of c, and compiles the first plans. spread says that multicasts are
// worthwhile.
func (c *Comm) setUp(spread bool) error {
	if err := c.checkNamed(); err != nil {
		return err
	}
	if n := c.cfg.Network; n != nil && len(n.Ranks) != c.size {
		return fmt.Errorf("%w: Config.Network: it has %d ranks, and there are %d", ErrInput, len(n.Ranks), c.size)
	}
	c.plans = plans{rank: c.rank, size: c.size, rules: c.cfg.rulesWords(), opens: c.opens(), rows: ir.Collectives(), source: c.cfg.source}
	c.plans.recent = make([]recent, len(c.plans.rows)<<recentBits)
	if c.window != nil {
		c.plans.reaches, c.plans.together = c.window.all.Reaches, !c.window.remote
	}
	c.plans.adaptive = c.cfg.Delay == DelayAdaptive && c.caps.Multicast && c.window == nil
	c.general = c.ground(spread).Case()
	if c.cfg.Learn != "" {
		c.learned = c.cfg.source.learner(c)
	}
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
	overlay, multicasts, agreed, err := c.cfg.overlay(anycast.Algorithm, c.size)
	if err != nil {
		return err
	}
	questions, asked, by, err := c.askOverlay()
	if err != nil {
		return err
	}
	agreed += ", questions by " + by
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
		Overlay:    overlay, AskOverlay: questions, AskSpread: asked, Spread: multicasts, PublishPrint: fingerprint(agreed), PublishWords: agreed, PublishWindow: c.cfg.PublishWindow, PublishBytes: c.cfg.PublishBytes, MaxMessage: c.cfg.MaxMessage,
		Lost:  func(rank int, err error) { c.drv.lost(c, rank, err) },
		Trace: c.coreTrace(),
	}, c.window.net(net))
	return c.compileShapes()
}

// compileShapes compiles the schedules that Config.Prepare names.
func (c *Comm) compileShapes() error {
	for _, s := range c.cfg.Prepare {
		k := c.plans.kindOf(s.Collective)
		if k < 0 {
			return fmt.Errorf("%w: Config.Prepare: there is no collective %q", ErrInput, s.Collective)
		}
		if err := s.check(c.plans.row(k), c.size); err != nil {
			return fmt.Errorf("%w: Config.Prepare: %s: %w", ErrInput, s.Collective, err)
		}
		if _, err := c.find(k, s.Bytes, s.Root, s.form(c.plans.row(k), c.size)); err != nil {
			return fmt.Errorf("Config.Prepare: %w", err)
		}
	}
	return nil
}

// checkNamed returns an error if an algorithm of Config cannot run with its parameters among c.size
// ranks.
func (c *Comm) checkNamed() error {
	for _, collective := range slices.Sorted(maps.Keys(c.cfg.Algorithms)) {
		a := c.cfg.Algorithms[collective]
		if a.Name == "" {
			continue
		}
		a.Params.Ranks, a.Params.Root = c.size, 0
		if _, err := c.cfg.source.spec(a.Name, a.Params); err != nil {
			return fmt.Errorf("%w: Config.Algorithms: %s: %w", ErrInput, collective, err)
		}
	}
	return nil
}

// opens returns the function that connects this rank with another rank of c, or nil if the
// transport opens all connections itself.
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

// Rank returns this process's number in the communicator, 0 … Size-1.
func (c *Comm) Rank() int { return c.rank }

// Size returns the number of ranks.
func (c *Comm) Size() int { return c.size }

// Err returns why the communicator has failed, or nil while it works.
func (c *Comm) Err() error {
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	return c.core.Err()
}

// Totals counts what a communicator has done since Join.
type Totals struct {
	Operations      uint64        `json:"operations"`        // collective operations completed
	McastChunks     uint64        `json:"mcast_chunks"`      // chunks of blocks that came by multicast first
	PutChunks       uint64        `json:"put_chunks"`        // chunks of blocks that came by put first: by the algorithm or a repair
	Repairs         uint64        `json:"repairs"`           // repair rules carried out
	Doubled         uint64        `json:"doubled"`           // signals sent as datagrams too
	Stale           uint64        `json:"stale"`             // frames and datagrams dropped: of past operations or closed communicators, or invalid
	Published       uint64        `json:"published"`         // rootless messages of this rank
	Delivered       uint64        `json:"delivered"`         // rootless messages handed to this process
	Given           uint64        `json:"given"`             // rootless messages put to ranks that had lost their multicasts
	Asked           uint64        `json:"asked"`             // questions of this rank
	Answered        uint64        `json:"answered"`          // questions that this rank has answered
	LostRanks       uint64        `json:"lost_ranks"`        // processes lost by communicators that share the transport
	Transport       wire.Stats    `json:"transport"`         // counters of the transport, which other communicators may share
	RootDelay       time.Duration `json:"root_delay_ns"`     // how long the root waits at most now, under DelayAdaptive
	OtherStage      uint64        `json:"other_stage"`       // broadcasts for which the root has chosen bcast/mcast-binomial, under DelayAdaptive
	LastMcastChunks int           `json:"last_mcast_chunks"` // McastChunks of the last operation that moved blocks
	LastPutChunks   int           `json:"last_put_chunks"`   // PutChunks of the last operation that moved blocks
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
		Published: n.Published, Delivered: n.Delivered, Given: n.Given, Asked: n.Asked, Answered: n.Answered, LostRanks: uint64(len(c.drv.gone)),
		RootDelay: time.Duration(n.Delay), OtherStage: n.OtherStage, Transport: c.drv.tr.Stats(),
	}
}

// Close leaves the communicator. It sends the frames that are still queued and tells the peers that
// this rank leaves, and why if the communicator has failed. Running calls and open requests end
// with ErrClosed. If there are any, the communicator fails at the other ranks with ErrPeerLeft.
// Later operations of other ranks that need this rank fail too. Rootless messages of others need
// nobody else: other ranks take this rank's place.
//
// Close does not wait for the calls of other ranks, or for the arrival of this rank's published
// messages; call Flush before Close to wait for the messages. Close waits for at most
// Config.Waiting.Linger until all ranks know the results that this rank has agreed on with
// [Comm.Agree].
//
// The last communicator on a transport closes the transport. It then waits until the operating
// system has taken all frames, and gives up when the system takes nothing for
// Config.Waiting.Linger. Close may be called more than once.
func (c *Comm) Close() error {
	first, err := c.closeOnce()
	if first {
		c.logClose(err)
	}
	return err
}

// closeOnce closes c unless it is closed already, and reports whether this call has closed it.
func (c *Comm) closeOnce() (first bool, err error) {
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	c.settle()
	if c.closing {
		return false, nil
	}
	return true, c.close()
}

// close closes c. The caller holds the lock.
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
	if c.shrunk != nil {
		c.shrunk.giveUp(ErrClosed)
	}
	d.remove(c, healthy)
	d.learned.add(c)
	if len(d.active) > 0 {
		d.poll()
		return nil
	}
	if err := d.close(); err != nil {
		return fmt.Errorf("close rank %d: %w", c.rank, err)
	}
	return nil
}

// failFor fails c outside of its operations because of err, in the call op, and tells all ranks. The
// caller holds the lock.
func (c *Comm) failFor(op string, err error) {
	c.core.Fail(op, 0, err)
	c.serve()
	c.notice()
}

// giveUp fails a new communicator that its caller does not get, and tells the other ranks why.
func (c *Comm) giveUp(err error) {
	c.closing = true
	c.core.Fail("split", 0, &foreignError{err})
	c.notice()
	c.core.Goodbye(false)
	c.drv.drop(c)
}
