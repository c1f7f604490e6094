package runtime

import (
	"context"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core"
)

// requests are those of a communicator, in the order of their starts.
type requests struct {
	started uint64     // the number of the last one
	open    []*Request // they have begun
	queue   queue      // they are to begin
	guards  guards
}

// Request is a collective operation that has been started. It goes on by itself,
// whether anybody waits for it or not.
type Request struct {
	comm *Comm
	ctx  context.Context
	plan *plan
	mem  core.Buffers
	seq  uint64 // its number

	counts core.Counts // where mem points, if blocks have lengths of their own
	single [2]int      // and theirs where there is one

	next  *Request // in the queue
	guard *guard   // of ctx, if nobody may be waiting

	ended bool
	err   error         // of the operation, once it has ended
	done  chan struct{} // made when it is asked for
	tell  func(error)   // Call.Ended
}

// StartBcast starts what [Comm.Bcast] does and does not wait for it: buf is the
// communicator's until the request has ended, and must not be touched before.
// Several requests may be open. Every rank must start the same operations in the
// same order, blocking calls included; it may wait for them in any order, and
// need not start one before others have ended because other ranks do. A few
// operations run at once, those that were started first; the others are queued and
// begin in their order when there is room.
//
// ctx governs the operation, also when nobody waits for it: if it ends first, or has
// ended before, the communicator fails at every rank. A root that is no rank is refused as by
// Bcast.
func (c *Comm) StartBcast(ctx context.Context, buf []byte, root int) (*Request, error) {
	if ctx == nil {
		return nil, c.refuse(noContext("bcast"))
	}
	if err := c.validRoot(root); err != nil {
		return nil, c.refuse(err)
	}
	return c.startRequest(&Request{comm: c}, ctx, bcast, core.InPlace(buf), root, form{})
}

// StartBarrier starts what [Comm.Barrier] does: the request ends when every rank
// has started or called the barrier. Otherwise it is as [Comm.StartBcast].
func (c *Comm) StartBarrier(ctx context.Context) (*Request, error) {
	if ctx == nil {
		return nil, c.refuse(noContext("barrier"))
	}
	return c.startRequest(&Request{comm: c}, ctx, barrier, core.Buffers{}, 0, form{})
}

func (c *Comm) startRequest(r *Request, ctx context.Context, k kind, mem core.Buffers, root int, f form) (*Request, error) {
	if !c.occupy() {
		return nil, ErrBusy
	}
	defer c.vacate()
	d := c.drv
	if err := c.prepareRequest(r, ctx, k, &mem, root, f); err != nil {
		return nil, err
	}
	if r.guard = c.guards.of(c, ctx); r.guard != nil {
		r.guard.open++
	}
	c.enter()
	c.start(r)
	c.leave()
	if !r.ended {
		d.expect()
	}
	if d.parking.parked {
		d.tr.Wake() // so that somebody parks with the request's timers in view
	}
	return r, nil
}

// Wait waits until the operation has ended and returns its error: nil, or one
// that names the operation and its number. Several goroutines may wait for one
// request, and wait again.
//
// The end of ctx ends the waiting only: the operation goes on, and buf is still the
// communicator's.
func (r *Request) Wait(ctx context.Context) error {
	if ctx == nil {
		return noContext("wait")
	}
	c := r.comm
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	if r.ended {
		return r.err
	}
	c.enter()
	err := c.await(ctx, r)
	if c.core.Err() != nil {
		c.serve()
	}
	c.leave()
	if r.ended {
		return r.err
	}
	return &OpError{Op: r.plan.Name, Rank: c.rank, Epoch: c.cfg.Epoch, Seq: r.seq, Err: fmt.Errorf("wait: %w", err)}
}

// Test reports whether the operation has ended, and its error. It does not wait: it looks once
// for what has come, unless somebody does so already.
func (r *Request) Test() (ended bool, err error) {
	c := r.comm
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	if !r.ended && c.drv.parking.driving == 0 && !c.closing {
		c.drv.poll()
	}
	return r.ended, r.err
}

// Done returns a channel that is closed when the operation has ended; Wait then
// returns at once. Nobody needs to wait for that: if no goroutine is inside a call
// of the communicator, its background completes the operation, though not before
// Config.Waiting.Idle has passed.
func (r *Request) Done() <-chan struct{} {
	r.comm.drv.mu.Lock()
	defer r.comm.drv.mu.Unlock()
	if r.done == nil {
		r.done = make(chan struct{})
		if r.ended {
			close(r.done)
		}
	}
	return r.done
}

// met is what Wait and the blocking calls wait for.
func (r *Request) met(*Comm) bool { return r.ended }

func (r *Request) failed(c *Comm) error { return c.core.Err() }

// end notes the outcome. The buffer is the caller's again.
func (r *Request) end(err error) {
	r.ended, r.err, r.mem, r.counts, r.ctx = true, err, core.Buffers{}, core.Counts{}, nil
	if r.done != nil {
		close(r.done)
	}
	if r.guard != nil {
		r.guard.open--
	}
	if r.tell != nil {
		r.tell(err)
	}
}

// prepareRequest fills in r, unless it cannot be started.
func (c *Comm) prepareRequest(r *Request, ctx context.Context, k kind, mem *core.Buffers, root int, f form) error {
	if err := c.core.Err(); err != nil {
		return err
	}
	n := mem.Block
	if f.counted && !f.shared {
		n = 0
	}
	p, err := c.planFor(k, n, root, f)
	if err == nil && f.counted && !f.shared {
		err = c.fitsFrames(c.plans.row(k), mem.Block, p.Chunks)
	}
	if err != nil {
		return c.refuseInside(err)
	}
	return c.prepareUnder(r, ctx, p, mem)
}

// prepareUnder fills in r to run under p, unless ctx has ended.
func (c *Comm) prepareUnder(r *Request, ctx context.Context, p *plan, mem *core.Buffers) error {
	if ctx.Err() != nil {
		return c.belated(ctx, p.Name)
	}
	r.ctx, r.plan, r.mem = ctx, p, *mem
	return nil
}

// belated fails the communicator because of a call under a context that has ended: the
// other ranks take part in the operation and cannot complete it without this one.
func (c *Comm) belated(ctx context.Context, name string) error {
	c.started++
	e := c.core.Fail(name, c.started, fmt.Errorf("the context had ended before the call: %w", context.Cause(ctx)))
	c.serve()
	c.notice()
	c.drv.poll() // the others are told
	return e
}

// start gives r the next number and begins it as soon as there is room.
func (c *Comm) start(r *Request) {
	c.started++
	r.seq = c.started
	if c.queue.first == nil && c.core.Vacant() {
		c.begin(r)
	} else {
		c.queue.push(r)
	}
	c.serve()
}

// serve ends the requests that are complete and begins those for which there is
// room; if the core has failed it ends all. It reports whether there were any.
// The transport must not be inside Poll.
func (c *Comm) serve() (moved bool) {
	moved = c.advance()
	c.drv.windows.heed(c.window)
	return moved
}

func (c *Comm) advance() (moved bool) {
	for {
		moved = c.endReady() || moved
		switch {
		case c.core.Err() != nil:
			return c.failAll(c.core.Err()) || moved
		case c.queue.first == nil || !c.core.Vacant():
			return moved
		}
		c.begin(c.queue.pop())
		moved = true
	}
}

// endReady ends the requests that are complete.
func (c *Comm) endReady() (some bool) {
	kept := c.open[:0]
	for _, r := range c.open {
		if !c.core.Ready(r.seq) {
			kept = append(kept, r)
			continue
		}
		c.core.End(r.seq)
		c.traceEnd(r, nil)
		r.end(nil)
		some = true
	}
	if some {
		clear(c.open[len(kept):])
		c.open = kept
	}
	return some
}

func (c *Comm) begin(r *Request) {
	c.open = append(c.open, r)
	c.traceBegin(r)
	c.core.Begin(r.plan.Plan, r.mem)
	if r.seq%checkCalls == 0 && c.window.shelves() {
		c.window.lookAround()
	}
}

// fail fails the communicator because request r could not be completed, and says
// where it stood.
func (c *Comm) fail(r *Request, err error) {
	c.core.Settle()
	if lost := c.core.Err(); lost != nil {
		err = lost
	} else if late, ok := c.core.Absent(r.seq); ok && r.ctx.Err() != nil {
		err = &RankError{Rank: late, Err: fmt.Errorf("it has not entered the operation: %w", err)}
	}
	e := c.core.Stand(r.plan.Name, r.seq, err)
	if r.ctx.Err() != nil && !c.closing {
		e.Waiting = c.waiting(r.plan, e.Missing)
	}
	c.core.FailWith(e)
	r.end(e)
	c.failAll(c.core.Err())
}

// failAll ends all requests because of err, which has ended the core, and reports
// whether there were any.
func (c *Comm) failAll(err error) (some bool) {
	if len(c.open) == 0 && c.queue.first == nil {
		return false
	}
	for _, r := range c.open {
		c.failWith(r, err)
		c.traceEnd(r, r.err)
	}
	for c.queue.first != nil {
		c.failWith(c.queue.pop(), err)
	}
	clear(c.open)
	c.open = c.open[:0]
	c.drv.wakeAll()
	c.drv.tr.Abandon(c.number)
	c.core.Abandon()
	return true
}

func (c *Comm) failWith(r *Request, err error) {
	if !r.ended {
		r.end(c.core.Fail(r.plan.Name, r.seq, err))
	}
}

// queue is the requests that have not begun, in their order.
type queue struct{ first, last *Request }

func (q *queue) push(r *Request) {
	if q.first == nil {
		q.first = r
	} else {
		q.last.next = r
	}
	q.last = r
}

func (q *queue) pop() *Request {
	r := q.first
	q.first, r.next = r.next, nil
	return r
}

// guards are the contexts of requests, whose ends fail the communicator. A
// registration is left for the next request under the same context, so that a
// request need not allocate one.
type guards struct {
	list  []*guard
	limit int // how long the list may become before it is looked through
}

type guard struct {
	done <-chan struct{}
	stop func() bool
	open int // requests
}

// minGuards is how many registrations are kept in any case.
const minGuards = 4

// of returns the guard of a context, nil if that never ends.
func (gs *guards) of(c *Comm, ctx context.Context) *guard {
	done := ctx.Done()
	if done == nil {
		return nil
	}
	for _, g := range slices.Backward(gs.list) {
		if g.done == done {
			return g
		}
	}
	if len(gs.list) >= gs.limit {
		gs.sweep()
	}
	g := &guard{done: done, stop: context.AfterFunc(ctx, c.expire)}
	gs.list = append(gs.list, g)
	return g
}

// sweep gives up the registrations that no request has.
func (gs *guards) sweep() {
	kept := gs.list[:0]
	for _, g := range gs.list {
		if g.open > 0 {
			kept = append(kept, g)
		} else {
			g.stop()
		}
	}
	clear(gs.list[len(kept):])
	gs.list = kept
	gs.limit = max(minGuards, 2*len(gs.list))
}

func (gs *guards) stop() {
	for _, g := range gs.list {
		g.stop()
	}
	gs.list = nil
}

// expire fails the communicator if the context of a request has ended.
func (c *Comm) expire() {
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	c.serve() // what is complete has ended well
	if r := c.expired(); r != nil {
		c.fail(r, context.Cause(r.ctx))
		c.drv.poll() // the others are told
	}
}

// expired returns the first request whose context has ended, nil if there is none.
func (c *Comm) expired() *Request {
	if i := slices.IndexFunc(c.open, func(r *Request) bool { return r.ctx.Err() != nil }); i >= 0 {
		return c.open[i]
	}
	for r := c.queue.first; r != nil; r = r.next {
		if r.ctx.Err() != nil {
			return r
		}
	}
	return nil
}

// The number of ranks that an error names, and of those that are asked for their
// programs to find them.
const (
	maxNamed    = 8
	maxSearched = 1 << 14
)

func (c *Comm) waiting(p *plan, missing []ir.Slot) []int {
	if c.size > maxSearched || len(missing) == 0 {
		return nil
	}
	return waitingFor(p.Programs, c.size, c.rank, missing, maxNamed)
}
