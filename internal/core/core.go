package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/schedgen/schedgen/internal/core/agree"
	"github.com/schedgen/schedgen/internal/core/flow"
	"github.com/schedgen/schedgen/internal/core/loss"
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/internal/core/publish"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Core is one rank's end of a communicator. One goroutine at a time uses it. It is the [wire.Sink]
// of its communicator.
type Core struct {
	env     env
	fate    failure
	members presence.Roster
	ops     operations
	surveys surveys
	watch   presence.Watch `state:"ignored"`
	agree   agreement
	bodies  bodies `state:"scratch"`
	quick   Quick  `state:"scratch"` // scratch

	messages *publish.Messages
}

// New returns the core of a rank that sends through net.
func New(cfg Config, net Net) *Core {
	if cfg.AskOverlay == nil {
		cfg.AskOverlay = cfg.Overlay
	}
	c := &Core{
		env:   env{Config: cfg, net: net},
		watch: presence.NewWatch(presence.WatchConfig{Rank: cfg.Rank, Size: cfg.Size, Silence: cfg.Silence, Datagrams: cfg.Caps.Direct}),
		agree: agreement{Agreements: agree.New(cfg.Rank, cfg.Size)},
	}
	c.ops.ledger.connect(net)
	c.ops.peers, c.ops.loss = flow.NewPeers(flowConfig(&c.env.Config)), loss.New(lossConfig(&c.env.Config))
	c.link()
	c.messages = publish.New(publishConfig(&c.env.Config), (*publisher)(c), &c.members)
	c.surveys.messages = publish.New(surveyConfig(&c.env.Config), (*publisher)(c), &c.members)
	c.surveys.init()
	return c
}

// link connects the parts with each other.
func (c *Core) link() {
	c.fate.env, c.ops.env, c.ops.fate = &c.env, &c.env, &c.fate
	c.surveys.env, c.surveys.fate, c.surveys.members = &c.env, &c.fate, &c.members
	c.fate.members, c.ops.members = &c.members, &c.members
}

// Err returns why the core has failed. It returns nil while the core works, and while the remaining
// ranks agree on which ranks are lost.
func (c *Core) Err() error {
	if c.settling() {
		return nil
	}
	return c.fate.err
}

// Failed reports whether the core has failed. Err does not say so while the remaining ranks agree
// on which ranks are lost.
func (c *Core) Failed() bool { return c.fate.err != nil }

// Begin enters the next operation. Vacant must hold. The core owns the buffers until End or
// Abandon. Seq then returns the operation's number as the last begun.
func (c *Core) Begin(p *Plan, mem Buffers) { c.ops.begin(p, mem) }

// Vacant reports whether the next operation may begin. If not, it may when another operation has
// ended or the answers of an old one have been sent.
func (c *Core) Vacant() bool { return c.fate.err == nil && c.ops.vacant() }

// Inside reports whether an operation has begun and has not ended.
func (c *Core) Inside() bool { return c.ops.complete < c.ops.seq }

// Waits reports whether the core depends on time: it is inside an operation, knows of an open
// question, watches another rank, waits for an agreement, repeats signals, or has refused a call
// that others wait for.
func (c *Core) Waits() bool {
	return c.Inside() || c.surveys.waiting > 0 || c.watch.Active() || c.agreeing() || c.ops.loss.Repeating() || c.messages.Timed() || c.surveys.messages.Timed() || c.ops.failsBy()
}

// Ready reports whether operation seq is open and complete. It is false while the core investigates
// a mismatch, and after it has failed by one.
func (c *Core) Ready(seq uint64) bool {
	o := c.ops.open(seq)
	return o != nil && o.ready() && !c.fate.dispute.IsOpen()
}

// End ends operation seq, which must be complete.
func (c *Core) End(seq uint64) { c.ops.end(c.ops.open(seq)) }

// Seq returns the number of the last operation that has begun, and the highest number up to which
// all operations have ended. Numbers count from 1.
func (c *Core) Seq() (begun, ended uint64) { return c.ops.seq, c.ops.complete }

// Fail ends the core because the call name, operation seq, could not be completed. It tells all
// ranks. The error says how far the operation came. The core keeps its operations until Abandon.
func (c *Core) Fail(name string, seq uint64, err error) *OpError {
	e := c.Stand(name, seq, err)
	c.FailWith(e)
	return e
}

// Stand returns the error of the call name, operation seq, which fails because of err. The error
// says how far the operation came.
func (c *Core) Stand(name string, seq uint64, err error) *OpError {
	e := &OpError{Op: name, Rank: c.env.Rank, Epoch: c.env.Epoch, Seq: seq, Err: c.fate.with(err)}
	if !c.fate.closing {
		c.ops.progress(e)
	}
	return e
}

// FailWith makes the core fail with an error that Stand has made. The caller may have added to it.
func (c *Core) FailWith(e *OpError) {
	c.fate.fail(e, true)
	c.updateAgreements()
}

// Abandon forgets the operations that were open when the core failed. The transport must have
// dropped their frames before.
func (c *Core) Abandon() {
	c.ops.abandonLines()
	for seq := c.ops.complete + 1; seq <= c.ops.seq; seq++ {
		if o := c.ops.open(seq); o != nil {
			o.free()
		}
	}
}

// Close ends the core with err. It reports whether the rank leaves in good order. If not, because
// the core has failed, is inside an operation or knows of a mismatch, Close tells all ranks.
func (c *Core) Close(err error) (healthy bool) {
	healthy = c.fate.err == nil && !c.Inside() && !c.fate.disputes()
	c.fate.close(err, !healthy)
	return healthy
}

// Supersede makes the error of a core that has failed and is closed wrap err, too: another core
// has taken its place.
func (c *Core) Supersede(err error) {
	c.fate.err = fmt.Errorf("%w by Shrink, after it had failed: %w", err, c.fate.err)
}

// Goodbye tells other ranks that this rank leaves, in good order or not, and then why. It tells the
// ranks that have asked this rank, may ask it, or exchange rootless messages or questions with it.
func (c *Core) Goodbye(healthy bool) {
	var to []int
	for distance := 1; distance < c.env.Size; distance = presence.Farther(distance) {
		to = append(to, (c.env.Rank+c.env.Size-distance)%c.env.Size)
	}
	if len(to) < c.env.Size-1 {
		to = append(append(to, c.ops.askers...), c.watch.Askers()...)
		to = slices.AppendSeq(to, maps.Keys(c.fate.told))
		to = c.messages.Parting(to)
		to = c.surveys.messages.Parting(to)
		slices.Sort(to)
		to = slices.Compact(to)
	}
	if healthy {
		c.messages.Farewells()
		c.surveys.messages.Farewells()
	}
	for _, rank := range to {
		c.goodbye(rank, healthy)
	}
}

func (c *Core) goodbye(to int, healthy bool) {
	arg := uint32(0)
	if !healthy {
		c.fate.answer(to)
		c.agree.TellLost(to)
		c.sendAgreements()
		arg = failed
	}
	last, _ := c.ops.history.Past(c.ops.complete)
	c.env.control(to, wire.FrameLeave, c.ops.complete, last, arg)
}

// Tick tells the core the time, which must not go back.
func (c *Core) Tick(now Time) {
	for {
		a, overdue := c.members.Overdue(now)
		if !overdue {
			break
		}
		if c.mayHaveLeft(a.Rank) {
			c.leave(a.Rank, presence.Unknown, 0)
		} else {
			c.fate.lost(a.Rank, a.Err)
		}
	}
	c.fate.tick(now)
	if c.fate.err == nil {
		if c.ops.tick(now) {
			c.watch.Want()
		}
		c.messages.Tick(now)
		c.surveys.messages.Tick(now)
	}
	if c.surveys.waiting > 0 && c.fate.err == nil {
		c.watch.Want() // a question of any rank ends at all ranks if one of them falls silent
	}
	if c.tickAgreements(now); c.fate.err == nil || c.agreeing() {
		c.tickWatch(now)
	}
}

// mayHaveLeft reports whether a rank that takes no connections may have left in good order without
// telling this rank. That is possible if this rank asked it only for an agreement, or if one of the
// two has taken the place of others in the trees of rootless messages.
func (c *Core) mayHaveLeft(rank int) bool {
	switch {
	case c.env.hearsLeave(rank):
		return false
	case c.fate.err != nil:
		return true // frames of that rank may have arrived too late
	case !c.agreeing() && !c.messages.MayLeave(rank) && !c.surveys.messages.MayLeave(rank):
		return false
	}
	_, how := c.ops.awaits(rank)
	return how == presence.WaitsNot
}

// Timed reports whether a timer needs precision: the driver must tick after every step.
func (c *Core) Timed() bool {
	return c.members.Suspects() || c.fate.disputes() || c.ops.timed() || c.ripe()
}

// Sent reports whether anything has been sent since the last call of Sent.
func (c *Core) Sent() bool {
	sent := c.env.queued
	c.env.queued = false
	return sent
}

// Counters counts what a core has done since it was made.
type Counters struct {
	Totals
	Repairs   uint64 // repair rules carried out
	Doubled   uint64 // signals sent as datagrams too
	Published uint64 // rootless messages of this rank
	Delivered uint64 // rootless messages handed to this process
	Given     uint64 // rootless messages put to ranks that had lost their multicasts
	Asked     uint64 // questions of this rank
	Answered  uint64 // questions that this process has answered
	Delay     Time   // the current delay of DelayAdaptive
}

// Counters returns the counters.
func (c *Core) Counters() Counters {
	messages := c.messages.Counts()
	repairs, doubled := c.ops.loss.Counts()
	return Counters{
		Totals: c.ops.totals, Repairs: repairs, Doubled: doubled,
		Published: messages.Published, Delivered: messages.Delivered, Given: messages.Given,
		Asked: c.surveys.asked, Answered: c.surveys.answered, Delay: c.ops.delay,
	}
}
