package runtime

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// Bcast sends buf of rank root to all ranks: on return, buf holds the root's
// bytes at every rank. len(buf) must be the same at all ranks. When the root
// returns, its buf may be reused; whether all ranks have the message by then
// depends on the algorithm (bcast/mcast-acktree guarantees it).
//
// If ctx ends first, the communicator fails at every rank, since the others
// cannot complete either; buf is then undefined. If ctx has ended before, Bcast
// does nothing but return an error.
func (c *Comm) Bcast(ctx context.Context, buf []byte, root int) error {
	if root < 0 || root >= c.size {
		return fmt.Errorf("%w: bcast: root %d outside 0 … %d", ErrInput, root, c.size-1)
	}
	return c.run(ctx, kindBcast, buf, root)
}

// Barrier returns when every rank has called it. If ctx ends first, the
// communicator fails at every rank.
func (c *Comm) Barrier(ctx context.Context) error {
	return c.run(ctx, kindBarrier, nil, 0)
}

// longMessage is from where on a pipeline beats the tree without multicast.
const longMessage = 64 << 10

func (c *Comm) bcastPlan(n, root int) (*plan, error) {
	alg := &c.cfg.Bcast
	if alg.Name == "" {
		switch {
		case c.caps.Multicast:
			alg = &c.multi
		case n < longMessage:
			alg = &c.autos[0]
		default:
			alg = &c.autos[1]
		}
	}
	return c.plans.get(planKey{algorithm: alg, root: root, chunks: c.chunks(alg, n)})
}

// chunks returns into how many chunks a message of n bytes is cut: the same
// at all ranks, since all know n and have agreed on the datagram. Some
// algorithms cut by the number of ranks: the symmetric one has a fragment for
// every destination (paper 004).
func (c *Comm) chunks(alg *Algorithm, n int) int {
	if alg.Params.Chunks > 0 {
		return alg.Params.Chunks
	}
	if c.cuts && alg == &c.cfg.Bcast {
		return 0 // its default
	}
	size := c.cfg.Chunk
	if size == 0 {
		size = 32 << 10
		if d := c.caps.Datagram; d > 0 {
			size = min(size, d)
		}
	}
	return max(1, min((n+size-1)/size, maxChunks))
}

func cutsItself(name string) bool {
	for _, a := range schedule.Algorithms() {
		if a.Name == name {
			return a.CutsItself()
		}
	}
	return false
}

func (c *Comm) run(ctx context.Context, k kind, buf []byte, root int) error {
	if !c.collective.TryLock() {
		return ErrBusy
	}
	c.mu.Lock()
	err := c.operate(ctx, k, buf, root)
	c.mu.Unlock()
	c.collective.Unlock()
	return err
}

// operate does the next operation. No defer here or in run: that costs as much
// as the rest where memory is shared.
func (c *Comm) operate(ctx context.Context, k kind, buf []byte, root int) error {
	if c.err != nil {
		return c.err
	}
	p, err := c.planFor(k, len(buf), root)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &OpError{Op: p.name, Rank: c.rank, Epoch: c.cfg.Epoch, Seq: c.seq + 1, Err: context.Cause(ctx)}
	}
	c.enter()
	err = c.perform(ctx, k, p, buf, root)
	c.leave()
	return err
}

// perform does it under p.
func (c *Comm) perform(ctx context.Context, k kind, p *plan, buf []byte, root int) error {
	o := &c.ops[(c.seq+1)%window]
	if err := c.await(ctx, (*drained)(o)); err != nil {
		return c.abandon(ctx, o, p, err)
	}
	c.begin(o, k, p, buf, root)
	if err := c.await(ctx, (*returning)(o)); err != nil {
		return c.abandon(ctx, o, p, err)
	}
	c.end(o)
	return nil
}

func (c *Comm) planFor(k kind, n, root int) (*plan, error) {
	if p, err := c.used.plan(k, root); p != nil || err != nil {
		return p, err
	}
	if k == kindBarrier {
		return c.plans.get(planKey{algorithm: &c.cfg.Barrier})
	}
	return c.bcastPlan(n, root)
}

// drained: an old operation's place may be taken; its last answers are sent.
type drained op

func (d *drained) met(*Comm) bool { return d.unsent == 0 }

// returning: the operation may return.
type returning op

func (r *returning) met(*Comm) bool { return (*op)(r).ready() }

// begin enters the next operation: signals that came early count, and the
// root starts when its policy allows.
func (c *Comm) begin(o *op, k kind, p *plan, buf []byte, root int) {
	c.seq++
	o.begin(c.seq, k, root, p, p.print(len(buf)), buf)
	o.stirred = true // moved is written only if the operation takes long
	c.active = o
	c.openFlow(o)
	if len(c.gone) > 0 {
		c.checkGone(o)
	}
	c.closeGate(o)
	c.announce(o)
	if !o.gate.closed {
		c.set(o, ir.Enter)
	}
	c.replay(o)
}

// start lets the root's rules go.
func (c *Comm) start(o *op) {
	o.gate.closed = false
	c.set(o, ir.Enter)
}

// replay sets the signals of o that came before the process did, and keeps
// those of later operations.
func (c *Comm) replay(o *op) {
	kept := c.earlies[:0]
	for _, e := range c.earlies {
		switch {
		case e.seq != o.seq:
			kept = append(kept, e)
		case e.print != o.print:
			c.disagree(o.plan.name, o.seq, e.from)
		case !o.machine.Valid(e.slot):
			c.violation(&Header{From: e.from, Seq: e.seq}, "%v does not exist here", e.slot)
		default:
			c.set(o, e.slot)
		}
	}
	c.earlies = kept
}

// set sets a slot of o and does what that triggers.
func (c *Comm) set(o *op, s ir.Slot) {
	o.stirred = true
	if len(o.gaps.owed) > 0 && s.Kind() == ir.KindChunk && !o.machine.Has(s) {
		defer c.settle(o, s.Index())
	}
	do, arm := o.machine.Set(s)
	if len(do) > 0 {
		c.act(o, do)
	}
	for _, repair := range arm {
		c.arm(o, repair)
	}
}

// act queues the frames of actions.
func (c *Comm) act(o *op, actions []ir.Action) {
	for len(actions) > 0 {
		n := 1
		switch a := actions[0]; {
		case a.Slot.Kind() == ir.KindChunk && !o.holds():
			// A request that came too late for what is kept; others repair.
		case c.group != nil && repeats(actions):
			n = c.putAll(o, actions)
		case a.Op == ir.Put:
			f := c.fill(o, a.Slot)
			o.unsent++
			c.double(int(a.To))
			c.put(int(a.To), f)
		case !o.hold(a.Slot):
			c.mcast(o, a.Slot)
		}
		actions = actions[n:]
	}
}

// repeats reports whether the first two of actions put the same signal, as a
// master's release of its slaves does. Signals are only ever put.
func repeats(actions []ir.Action) bool {
	return len(actions) > 1 && actions[1].Slot == actions[0].Slot && actions[0].Slot.Kind() == ir.KindSignal
}

// putAll puts the signal of the first of actions, and of those behind it that
// put the same one, at once; it returns how many there are.
func (c *Comm) putAll(o *op, actions []ir.Action) int {
	f := c.fill(o, actions[0].Slot)
	c.ranks = c.ranks[:0]
	for _, a := range actions {
		if a.Slot != f.Slot {
			break
		}
		c.double(int(a.To))
		c.ranks = append(c.ranks, int(a.To))
	}
	o.unsent += len(c.ranks)
	c.queued = true
	c.group.PutAll(c.ranks, f)
	return len(c.ranks)
}

// fill makes the communicator's frame one that carries slot s of o.
func (c *Comm) fill(o *op, s ir.Slot) *Frame {
	f := &c.frame
	f.Header = Header{Kind: FrameSlot, Lane: LaneOps, Epoch: c.cfg.Epoch, Seq: o.seq, Slot: s, Print: o.print, From: c.rank}
	f.Body = nil
	if s.Kind() == ir.KindChunk {
		f.Body = o.chunk(s)
		f.Len = len(f.Body)
	}
	f.Unsent = &o.unsent
	return f
}

// mcast queues the multicast of a chunk, the last one of some more than once.
func (c *Comm) mcast(o *op, s ir.Slot) {
	f := c.fill(o, s)
	for range 1 + o.stress(s) {
		c.queued = true
		o.unsent++
		c.tr.Mcast(f)
	}
}

// end returns from o.
func (c *Comm) end(o *op) {
	c.report(o)
	c.take(o, o.chunks) // what still comes by multicast is nothing to wait for
	o.retire(c.cfg.Retain / window)
	c.active = nil
	c.complete = o.seq
	c.totals.Operations++
	if o.kind == kindBcast {
		c.totals.McastChunks += uint64(o.byMcast)
		c.totals.PutChunks += uint64(o.byPut)
		c.totals.LastMcastChunks, c.totals.LastPutChunks = o.byMcast, o.byPut
	}
}

// abandon fails the communicator because an operation could not be completed,
// and returns an error that says where it stood.
func (c *Comm) abandon(ctx context.Context, o *op, p *plan, err error) error {
	e := &OpError{Op: p.name, Rank: c.rank, Epoch: c.cfg.Epoch, Seq: c.seq, Err: err}
	if c.active == o && !c.closing {
		e.Fired, e.Rules = o.machine.Progress()
		e.Missing = o.machine.Missing(nil, maxNamed)
		if ctx.Err() != nil {
			e.Waiting = c.waiting(p, e.Missing)
		}
	}
	c.active = nil
	c.fail(e, true)
	c.tr.Abandon()
	o.drop()
	o.state, o.buf = opFree, nil
	return e
}

// The numbers of slots and ranks an error names, and of ranks that are asked
// for their programs to find them.
const (
	maxNamed    = 8
	maxSearched = 1 << 14
)

func (c *Comm) waiting(p *plan, missing []ir.Slot) []int {
	if c.size > maxSearched || len(missing) == 0 {
		return nil
	}
	return waitingFor(p.programs, c.size, c.rank, missing, maxNamed)
}
