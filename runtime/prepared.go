package runtime

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
)

// Prepared is a collective that can be started any number of times, with the same arguments and
// buffers, like one of MPI-4's persistent collectives. Its schedule is chosen, compiled and placed
// in windows, and its arguments are checked. A start looks nothing up, and after the first few
// starts allocates nothing.
//
// A start counts as one of the operations that all ranks call in the same order. Prepared holds
// nothing that must be given back. One goroutine at a time uses it. After the communicator has
// failed or is closed, also by Shrink, starts return its error: prepare anew with the communicator
// that Shrink has made. Use changes no operation that has been prepared.
type Prepared struct {
	name    string // of the collective, for errors
	plan    *plan
	mem     core.Buffers
	lengths lengths // the counts that mem points to
	last    Request // the last start; before the first, a request that has ended
}

// Prepare prepares the collective of a call. Every rank must call it, between the same operations,
// with arguments that fit together, as for [Comm.Do]. If they do not fit, all ranks get ErrMismatch
// here, also where Do would find that later: the communicator has then failed. Wrong arguments are
// ErrInput, and the call does nothing, as for Do. Prepare takes as long as a barrier. Where a rank
// knows only the lengths of its own blocks, as in an alltoall with counts, it takes one operation
// more, which brings the counts of the others.
//
// The buffers belong to the caller except between a start and its end; the program fills them with
// new data before each start. Prepare copies the counts. Call.Ended is called at each end of a
// Start. If ctx ends before or during the call, the communicator fails at every rank.
func (c *Comm) Prepare(ctx context.Context, call Call) (*Prepared, error) {
	var mem core.Buffers
	var f form
	k, err := c.blocksOf(ctx, &call, &mem, &f)
	if err != nil {
		return nil, err
	}
	p := &Prepared{name: c.plans.row(k).Name, last: Request{comm: c, tell: call.Ended, ended: true, known: true}}
	if f.counted {
		call.DstCounts, call.SrcCounts = slices.Clone(call.DstCounts), slices.Clone(call.SrcCounts)
		p.lengths.set(&mem, &call, f.shared)
	}
	p.mem = mem
	if !c.occupy() {
		return nil, ErrBusy
	}
	defer c.vacate()
	if p.plan, err = c.planOf(k, &mem, call.Root, &f); err != nil {
		return nil, err
	}
	p.last.plan = p.plan
	if err := c.concur(ctx, k, call.Root, p); err != nil {
		return nil, err
	}
	return p, nil
}

// Start starts the operation and returns without waiting for it. The communicator owns the buffers
// until the operation has ended. ctx governs it as for [Comm.StartBcast].
//
// After a start, Wait, Test or Call.Ended must have told its outcome before the next start. Start
// is ErrBusy until then, and also while another goroutine is inside a collective call.
func (p *Prepared) Start(ctx context.Context) error {
	c := p.last.comm
	if err := p.occupy(ctx); err != nil {
		return err
	}
	defer c.vacate()
	if c.core.Err() == nil && c.quick(ctx, p.plan, &p.mem, false) {
		r := &p.last
		r.seq, r.known, r.done, r.guard = c.started, false, nil, nil
		r.end(nil)
		return nil
	}
	return c.launch(&p.last, ctx, p.plan, &p.mem)
}

// Do starts the operation and waits until it has ended, like [Comm.Do]. Where Start is ErrBusy, so
// is Do.
func (p *Prepared) Do(ctx context.Context) error {
	c := p.last.comm
	if err := p.occupy(ctx); err != nil {
		return err
	}
	err := c.run(ctx, p.plan, &p.mem)
	c.vacate()
	c.raise(err)
	return err
}

// occupy takes the driver's lock for a start, or returns why p cannot be started.
func (p *Prepared) occupy(ctx context.Context) error {
	c := p.last.comm
	if ctx == nil {
		return c.refuse(noContext(p.name))
	}
	if !c.occupy() {
		return ErrBusy
	}
	if !p.last.known {
		c.vacate()
		return &startedError{p.plan.Name}
	}
	c.ran = p.plan
	return nil
}

// startedError is the ErrBusy of a prepared operation.
type startedError struct{ name string }

func (e *startedError) Error() string {
	return e.name + ": it has been started, and Wait has not returned since"
}

func (e *startedError) Is(target error) bool { return target == ErrBusy }

// Wait waits until the last start has ended and returns its error, like [Request.Wait]. It returns
// nil before the first start.
func (p *Prepared) Wait(ctx context.Context) error { return p.last.Wait(ctx) }

// Test reports whether the last start has ended, and its error, like [Request.Test]. It reports
// true before the first start.
func (p *Prepared) Test() (ended bool, err error) { return p.last.Test() }

// Done returns a channel that is closed when the last start has ended, like [Request.Done]. Call
// Wait or Test then: they return at once, and p can be started again.
func (p *Prepared) Done() <-chan struct{} { return p.last.Done() }

// concur makes sure that all ranks have prepared the same operation. They pass a barrier whose
// fingerprint covers a description of the operation, so a rank that differs is a mismatch. No rank
// passes the barrier then.
func (c *Comm) concur(ctx context.Context, k kind, root int, p *Prepared) error {
	words := "to prepare " + p.plan.Describe(&p.mem)
	if p.mem.Counts != nil && !p.mem.Counts.Shared {
		if err := c.compareCounts(ctx, k, root, p, words); err != nil {
			return err
		}
	}
	return c.runMarked(ctx, barrier, &core.Buffers{}, 0, form{}, p, words)
}

// runMarked runs an operation on the way to prepare p. Ranks that give other words are a mismatch.
func (c *Comm) runMarked(ctx context.Context, k kind, mem *core.Buffers, root int, f form, p *Prepared, words string) error {
	of, err := c.planOf(k, mem, root, &f)
	if err != nil {
		return err
	}
	marked := *of
	marked.Plan = of.Marked(words)
	marked.Plan.Name = p.words() // for errors
	return c.run(ctx, &marked, mem)
}

// words names the preparation of p.
func (p *Prepared) words() string { return "prepare " + p.plan.Name }

// countBytes is the length of a count in a message.
const countBytes = 8

// compareCounts fails the communicator if two ranks know different lengths of a block. To find out,
// the ranks run the collective itself. Each block then holds the length that its sender knows.
func (c *Comm) compareCounts(ctx context.Context, k kind, root int, p *Prepared, words string) error {
	row := c.plans.row(k)
	held, wanted := row.Held(c.size, root, c.rank), row.Wanted(c.size, root, c.rank)
	mem := core.Buffers{Out: make([]byte, countBytes*wanted.Count), Block: countBytes}
	for i := range held.Count {
		mem.In = binary.BigEndian.AppendUint64(mem.In, uint64(p.lengths.In[i]))
	}
	if err := c.runMarked(ctx, k, &mem, root, elements(countBytes), p, words); err != nil {
		return err
	}
	for i := range wanted.Count {
		sent, want := binary.BigEndian.Uint64(mem.Out[countBytes*i:]), p.lengths.Out[i]
		if sent != uint64(want) {
			from := c.holder(row, root, wanted.At(i))
			return c.differ(from, fmt.Sprintf("%s: rank %d sends rank %d a block of %d elements, but rank %d expects %d", p.words(), from, c.rank, sent, c.rank, want))
		}
	}
	return nil
}

// holder returns the rank that holds a block from the start.
func (c *Comm) holder(row *ir.Collective, root, block int) int {
	for rank := range c.size {
		if held := row.Held(c.size, root, rank); held.Index(block) >= 0 {
			return rank
		}
	}
	return root
}

// differ fails the communicator at all ranks with a mismatch about a rank, and returns the error,
// which may be one that another rank has found first.
func (c *Comm) differ(about int, words string) error {
	c.core.Differ(about, words)
	c.enter()
	err := c.await(context.Background(), failing{})
	c.leave()
	return err
}

// failing is what a rank waits for that has found a mismatch.
type failing struct{ working }

func (failing) met(*Comm) bool { return false }
