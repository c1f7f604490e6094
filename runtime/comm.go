package runtime

import (
	"context"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/internal/yield"
)

// Comm is a communicator: one rank's end of a group of ranks that do
// collective operations together. Every rank must call the same operations in
// the same order; Publish, Next, Poll and Messages may run beside them, in
// other goroutines.
type Comm struct {
	cfg   Config
	tr    Transport
	group GroupPutter // tr, if it is one; else nil
	clock Clock
	caps  Caps
	rank  int
	size  int
	id    [16]byte

	crowded bool        // more ranks than cores on this host
	crowd   yield.Crowd // waits if so
	alone   yield.Alone // waits if not

	collective sync.Mutex // held by the goroutine inside Bcast or Barrier

	mu   sync.Mutex // guards all below and the transport's Put, Mcast and Poll
	cond sync.Cond  // something has moved; see await

	plans    plans
	used     used         // schedules that take the place of what Config says
	autos    [2]Algorithm // broadcasts without multicast: short, long
	multi    Algorithm    // broadcast with multicast
	cuts     bool         // Config.Bcast has a number of chunks of its own
	seq      uint64       // the last operation entered
	complete uint64       // the last operation returned from
	active   *op
	ops      [window]op
	earlies  []earlySignal
	frame    Frame // scratch, so that sending does not allocate
	ranks    []int // likewise
	polls    uint
	queued   bool // frames have been queued since the last Poll

	joined    seqSet
	rootDelay time.Duration
	gone      map[int]uint64 // rank that has left -> its last operation
	suspects  map[int]suspect
	places    map[int]*incoming // by sender
	asks      asks
	lossyTill uint64 // operations up to this one expect losses

	cast    caster
	reports [maxLevels]taken // how far multicasts have come elsewhere, by distance

	calls       atomic.Int32  // goroutines inside a call; set under the lock, as the next
	entered     atomic.Uint64 // calls so far
	looked      uint64        // entered, when the background last looked
	quiet       time.Duration // until it looks again
	sleepers    int           // goroutines in cond.Wait
	parked      bool
	parkedUntil time.Time // zero: without limit
	watched     <-chan struct{}
	unwatch     func() bool
	idle        Timer

	err     error // why the communicator has failed
	dead    int   // 1 + the rank whose loss that was; 0: none
	closing bool
	stale   uint64
	totals  Totals
}

type earlySignal struct {
	seq   uint64
	slot  ir.Slot
	print uint32
	from  int
}

// Join makes the communicator of cfg.Transport's ranks. It owns the transport
// from then on, also if it returns an error.
func Join(ctx context.Context, cfg Config) (*Comm, error) {
	if err := cfg.fill(); err != nil {
		if cfg.Transport != nil {
			_ = cfg.Transport.Close(0, false, 0) // the first error is the one to tell
		}
		return nil, fmt.Errorf("join: %w", err)
	}
	c := &Comm{
		cfg: cfg, tr: cfg.Transport, clock: cfg.Clock, caps: cfg.Transport.Caps(),
		rank: cfg.Transport.Rank(), size: cfg.Transport.Size(), id: cfg.Transport.ID(),
	}
	c.group, _ = c.tr.(GroupPutter)
	c.crowded = c.caps.Local > goruntime.NumCPU()
	c.crowd.Index = c.rank
	c.alone.Patience = 2 + 4*(c.rank%goruntime.NumCPU())
	c.cond.L = &c.mu
	c.earlies = make([]earlySignal, 0, 64)
	c.plans = plans{rank: c.rank, size: c.size}
	if err := c.prepare(ctx); err != nil {
		_ = c.tr.Close(0, false, 0)
		return nil, fmt.Errorf("join: rank %d of %d: %w", c.rank, c.size, err)
	}
	yield.Open()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quiet = c.cfg.Idle
	c.idle = c.clock.AfterFunc(c.quiet, c.background)
	return c, nil
}

// prepare compiles what every rank will run first and checks the choice of
// algorithms.
func (c *Comm) prepare(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.autos = [2]Algorithm{{Name: "bcast/binomial"}, {Name: "bcast/chain"}}
	for i := range c.autos {
		c.autos[i].Params.Hosts = hostsAbove(c.tr)
	}
	c.multi = Algorithm{Name: "bcast/mcast-chain"}
	c.cuts = cutsItself(c.cfg.Bcast.Name)
	if _, err := c.plans.get(planKey{algorithm: &c.cfg.Barrier}); err != nil {
		return err
	}
	if _, err := c.bcastPlan(0, 0); err != nil {
		return err
	}
	return c.cast.init(c)
}

// Rank returns this process's number, 0 … Size-1.
func (c *Comm) Rank() int { return c.rank }

// Size returns the number of ranks.
func (c *Comm) Size() int { return c.size }

// Err returns why the communicator has failed, nil while it works.
func (c *Comm) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
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
	Transport       Stats
	RootDelay       time.Duration // the present delay of DelayAdaptive
	LastMcastChunks int           // McastChunks of the last broadcast alone
	LastPutChunks   int           // PutChunks of the last broadcast alone
}

// Totals returns the counters.
func (c *Comm) Totals() Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.totals
	t.Stale, t.RootDelay, t.Transport = c.stale, c.rootDelay, c.tr.Stats()
	return t
}

// linger is how long Close waits for what is still to be sent.
const linger = 2 * time.Second

// Close leaves the communicator: frames that are still queued are sent, the
// peers are told, and the transport is closed. Calls that are running return
// ErrClosed. Operations that others start later and that need this rank fail
// there with ErrPeerLeft. Close may be called more than once.
func (c *Comm) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return nil
	}
	c.closing = true
	yield.Close()
	healthy := c.err == nil && c.active == nil
	if c.err == nil {
		c.err = ErrClosed
	}
	c.idle.Stop()
	for c.calls.Load() > 0 || c.parked {
		c.wakeAll()
		c.cond.Wait()
	}
	if c.unwatch != nil {
		c.unwatch()
	}
	if healthy && c.size > 1 {
		c.control((c.rank+c.size-1)%c.size, FrameLeave, c.complete, 0, 0)
	}
	if err := c.tr.Close(c.complete, healthy, linger); err != nil {
		return fmt.Errorf("close rank %d: %w", c.rank, err)
	}
	return nil
}

func (c *Comm) wakeAll() {
	c.cond.Broadcast()
	c.tr.Wake()
}
