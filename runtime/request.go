package runtime

import (
	"context"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
)

// requests are the requests of a communicator, in the order of their starts.
type requests struct {
	started uint64     // number of the last request
	open    []*Request // requests that have begun
	queue   queue      // requests that have not begun
	guards  guards
}

// Request is a collective operation that has been started. It makes progress whether a caller waits
// for it or not.
type Request struct {
	comm *Comm
	ctx  context.Context
	plan *plan
	mem  core.Buffers
	seq  uint64 // number of the operation

	since core.Time // when it was started; see Comm.since

	lengths lengths // the counts that mem points to, unless a Prepared or the Comm has them

	next  *Request // in the queue
	guard *guard   // of ctx; nil if ctx never ends or the call itself waits

	ended bool
	known bool          // the caller knows err: by Wait, Test or Call.Ended
	err   error         // of the operation, after it has ended
	done  chan struct{} // made on the first call of Done
	tell  func(error)   // Call.Ended
}

// StartBcast starts the broadcast of [Comm.Bcast] and returns without waiting for it. The
// communicator owns buf until the request has ended; do not touch buf before. Several requests may
// be open. Every rank must start the same operations in the same order, blocking calls included. A
// rank may wait for them in any order, and need not overlap operations that other ranks overlap. A
// few operations run at once, in the order of their starts; the others are queued.
//
// ctx governs the operation, also while no caller waits for it: if ctx ends before or during the
// operation, the communicator fails at every rank. A root outside 0 … Size-1 is refused, as by
// Bcast.
func (c *Comm) StartBcast(ctx context.Context, buf []byte, root int) (*Request, error) {
	if ctx == nil {
		return nil, c.refuse(noContext("bcast"))
	}
	if err := c.validRoot(root); err != nil {
		return nil, c.refuse(err)
	}
	mem := core.InPlace(buf)
	return c.startRequest(&Request{comm: c}, ctx, bcast, &mem, root, form{})
}

// StartBarrier starts the barrier of [Comm.Barrier]: the request ends when every rank has started
// or called the barrier. Otherwise it works like [Comm.StartBcast].
func (c *Comm) StartBarrier(ctx context.Context) (*Request, error) {
	if ctx == nil {
		return nil, c.refuse(noContext("barrier"))
	}
	return c.startRequest(&Request{comm: c}, ctx, barrier, &core.Buffers{}, 0, form{})
}

func (c *Comm) startRequest(r *Request, ctx context.Context, k kind, mem *core.Buffers, root int, f form) (*Request, error) {
	if !c.occupy() {
		return nil, ErrBusy
	}
	defer c.vacate()
	p, err := c.planOf(k, mem, root, &f)
	if err != nil {
		return nil, err
	}
	c.ran = p
	if err := c.launch(r, ctx, p, mem); err != nil {
		return nil, err
	}
	return r, nil
}

// launch starts an operation under p as r. The caller holds the lock.
func (c *Comm) launch(r *Request, ctx context.Context, p *plan, mem *core.Buffers) error {
	d := c.drv
	if err := c.ready(r, ctx, p, mem); err != nil {
		return err
	}
	if r.guard = c.guards.guardOf(c, ctx); r.guard != nil {
		r.guard.open++
	}
	c.enter()
	c.start(r)
	c.leave()
	if !r.ended {
		d.expect()
	}
	if d.parking.parked {
		d.tr.Wake() // the goroutine that parks next takes the request's timers into account
	}
	return nil
}

// Wait waits until the operation has ended and returns its error: nil, or an error that names the
// operation and its number. Several goroutines may wait for one request, and Wait may be called
// again.
//
// If ctx ends, only the wait ends: the operation goes on, and the communicator still owns buf. If
// the operation has stood still for longer than Config.Stall and a rank has said that it has not
// entered it, the error names that rank, as a [RankError].
func (r *Request) Wait(ctx context.Context) error {
	if ctx == nil {
		return noContext("wait")
	}
	c := r.comm
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	if r.ended {
		return r.outcome()
	}
	c.enter()
	err := c.await(ctx, r)
	if c.core.Err() != nil {
		c.serve()
	}
	c.leave()
	if r.ended {
		return r.outcome()
	}
	return &OpError{Op: r.plan.Name, Rank: c.rank, Epoch: c.cfg.Epoch, Seq: r.seq, Err: fmt.Errorf("wait: %w", c.withLate(r, err))}
}

// outcome returns the error of the operation, which has ended.
func (r *Request) outcome() error {
	r.known = true
	r.comm.raise(r.err)
	return r.err
}

// withLate returns err, by which a wait for r ends. If a rank has said that it has not entered the
// operation, the result is an error about that rank.
func (c *Comm) withLate(r *Request, err error) error {
	if late, ok := c.core.Absent(r.seq); ok {
		return &RankError{Rank: late, Err: fmt.Errorf("it has not entered the operation: %w", err)}
	}
	return err
}

// Test reports whether the operation has ended, and its error. Test does not wait: it polls once,
// unless another goroutine polls already.
func (r *Request) Test() (ended bool, err error) {
	c := r.comm
	c.drv.mu.Lock()
	defer c.drv.mu.Unlock()
	if !r.ended && c.drv.parking.driving == 0 && !c.closing {
		c.drv.poll()
	}
	if !r.ended {
		return false, nil
	}
	return true, r.outcome()
}

// Done returns a channel that is closed when the operation has ended; Wait then returns at once.
// The operation completes even if no goroutine is inside a call of the communicator: the background
// completes it, but not before Config.Waiting.Idle has passed.
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

// met makes a request the condition that Wait and the blocking calls wait for.
func (r *Request) met(*Comm) bool { return r.ended }

func (r *Request) failed(c *Comm) error { return c.core.Err() }

// end records the outcome and returns the buffer to the caller.
func (r *Request) end(err error) {
	r.ended, r.err, r.mem, r.lengths, r.ctx = true, err, core.Buffers{}, lengths{}, nil
	if r.done != nil {
		close(r.done)
	}
	if r.guard != nil {
		r.guard.open--
	}
	if r.tell != nil {
		r.known = true
		r.tell(err)
	}
}

// ready fills in r to run under p, unless c has failed or ctx has ended.
func (c *Comm) ready(r *Request, ctx context.Context, p *plan, mem *core.Buffers) error {
	if err := c.core.Err(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return c.belated(ctx, p.Name)
	}
	r.ctx, r.plan, r.mem = ctx, p, *mem
	r.ended, r.known, r.err, r.done, r.guard = false, false, nil, nil, nil
	return nil
}

// belated fails the communicator because of a call whose context had ended before: the other ranks
// take part in the operation and cannot complete it without this rank.
func (c *Comm) belated(ctx context.Context, name string) error {
	c.started++
	e := c.core.Fail(name, c.started, fmt.Errorf("the context had ended before the call: %w", context.Cause(ctx)))
	c.serve()
	c.notice()
	c.drv.poll() // sends the reason to the other ranks
	return e
}

// start gives r the next number and begins r as soon as there is room.
func (c *Comm) start(r *Request) {
	c.started++
	r.seq, r.since = c.started, c.since()
	if c.queue.first == nil && c.core.Vacant() {
		c.begin(r)
	} else {
		c.queue.push(r)
	}
	c.serve()
}

// serve ends the requests that are complete and begins queued requests while there is room. If the
// core has failed, it ends all requests. It reports whether it has changed any request. The
// transport must not be inside Poll.
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
		if c.patience.over(r.seq) {
			c.logWaited(r)
		}
		c.traceEnd(r, nil)
		if r.since > 0 {
			c.took(r.plan, r.mem.Block, r.since)
		}
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

// fail fails the communicator because request r could not be completed. The error says how far r
// came.
func (c *Comm) fail(r *Request, err error) {
	c.core.Settle()
	if lost := c.core.Err(); lost != nil {
		err = lost
	} else if r.ctx.Err() != nil {
		err = c.withLate(r, err)
	}
	e := c.core.Stand(r.plan.Name, r.seq, err)
	if r.ctx.Err() != nil && !c.closing {
		e.Waiting = c.waiting(r.plan, e.Missing)
	}
	c.core.FailWith(e)
	r.end(e)
	c.failAll(c.core.Err())
}

// failAll ends all requests because of err, which has ended the core. It reports whether there were
// any.
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

// queue holds the requests that have not begun, in their order.
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

// guards watch the contexts of requests: when such a context ends, the communicator fails. A
// registration stays for the next request under the same context, which then need not allocate one.
type guards struct {
	list  []*guard
	limit int // length of the list at which it is swept
}

type guard struct {
	done <-chan struct{}
	stop func() bool
	open int // open requests under the context
}

// minGuards is the least length at which the list of registrations is swept.
const minGuards = 4

// guardOf returns the guard of ctx, or nil if ctx never ends.
func (gs *guards) guardOf(c *Comm, ctx context.Context) *guard {
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

// sweep drops the registrations without open requests.
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
	c.serve() // requests that are complete end without an error
	if r := c.expired(); r != nil {
		c.fail(r, context.Cause(r.ctx))
		c.drv.poll() // sends the reason to the other ranks
	}
}

// expired returns the first request whose context has ended, or nil.
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

// maxNamed is how many ranks an error names. maxSearched is the greatest size of a communicator in
// which errors and states look through the programs of all ranks to find the ranks to name.
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
