package runtime

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// Bcast sends buf of rank root to all ranks: on return, buf holds the root's bytes at every rank.
// root and len(buf) must be the same at all ranks. If they differ, the communicator fails at every
// rank with ErrMismatch, at the latest in the next barrier. When Bcast returns at the root, the
// root may reuse buf. Whether all ranks have the message by then depends on the algorithm;
// bcast/mcast-acktree guarantees it. Use BcastBytes for messages whose length only the root knows.
//
// buf may be of any length, unless Config.Algorithms asks for so few chunks that a chunk would be
// longer than wire.MaxBody, 2 GiB. That is ErrInput at every rank.
//
// If ctx ends before or during the call, the communicator fails at every rank, since the other
// ranks cannot complete the operation either. After an error the content of buf is undefined,
// unless the error is an [OpError] with Whole set. A root outside 0 … Size-1 is refused: the call
// does nothing and does not count as one of the operations that all ranks call in the same order.
func (c *Comm) Bcast(ctx context.Context, buf []byte, root int) error {
	return c.BcastElements(ctx, buf, 1, root)
}

// BcastElements is [Comm.Bcast] of elements of element bytes each. element is at least 1. Ranks
// that give different values of element fail with ErrMismatch.
func (c *Comm) BcastElements(ctx context.Context, buf []byte, element, root int) error {
	if ctx == nil {
		return c.refuse(noContext("bcast"))
	}
	if err := c.validRoot(root); err != nil {
		return c.refuse(err)
	}
	if element < 1 {
		return c.refuse(fmt.Errorf("%w: bcast: elements of %d bytes: must be at least 1", ErrInput, element))
	}
	f := &bare
	if element > 1 {
		f = &form{element: element}
	}
	return c.startAndWait(ctx, bcast, &core.Buffers{In: buf, Out: buf, Block: len(buf)}, root, f, nil)
}

func (c *Comm) validRoot(root int) error {
	if root < 0 || root >= c.size {
		return fmt.Errorf("%w: bcast: root %d outside 0 … %d", ErrInput, root, c.size-1)
	}
	return nil
}

// Barrier returns when every rank has called it. If ctx ends before or during the call, the
// communicator fails at every rank.
func (c *Comm) Barrier(ctx context.Context) error {
	if ctx == nil {
		return c.refuse(noContext("barrier"))
	}
	return c.startAndWait(ctx, barrier, &core.Buffers{}, 0, &bare, nil)
}

// kind is the index of a collective in the table.
type kind int

func kindOf(collective string) kind {
	for i, row := range ir.Collectives() {
		if row.Name == collective {
			return kind(i)
		}
	}
	return -1
}

// kindOf returns the kind of the collective with that name, or -1.
func (ps *plans) kindOf(collective string) kind {
	for i := range ps.rows {
		if ps.rows[i].Name == collective {
			return kind(i)
		}
	}
	return -1
}

// The collectives that the runtime calls by name.
var (
	bcast   = kindOf(schedule.Bcast)
	barrier = kindOf(schedule.Barrier)
)

// row returns the table's row of a collective.
func (ps *plans) row(k kind) *ir.Collective { return &ps.rows[k] }

// choose returns the plan of an operation with blocks of n bytes.
func (c *Comm) choose(k kind, n, root int, f form) (*plan, error) {
	if c.learned != nil {
		if r := c.learned.rival(k, n, f); r != nil {
			if p, err := c.planBy(&r.chosen, k, n, root); err == nil && c.fitsFrames(c.plans.row(k), n, p.Chunks) == nil {
				return p, nil
			}
		}
	}
	ch, err := c.chosen(c.plans.row(k).Name, n, f.ordered)
	if err != nil {
		return nil, err
	}
	return c.planBy(&ch, k, n, root)
}

// planBy returns the plan of an operation with blocks of n bytes by a chosen algorithm.
func (c *Comm) planBy(ch *chosen, k kind, n, root int) (*plan, error) {
	row := c.plans.row(k)
	given := c.cfg.Algorithms[row.Name]
	key := planKey{algorithm: ch.Algorithm, root: root}
	if row.Blocks != nil {
		key.chunks = c.chunks(ch, row, n)
	}
	p, err := c.plans.get(key)
	if err == nil && c.fitsFrames(row, n, p.Chunks) != nil && given.Params.Chunks == 0 {
		key.chunks = selection.AtLeast(key.chunks, n) // the chunk count comes from rules, so it may grow
		return c.plans.get(key)
	}
	return p, err
}

// chosen is an algorithm and the greatest length of its chunks.
type chosen struct {
	Algorithm
	chunk int // bytes; 0: no limit
}

// chosen returns the algorithm that Config names for an operation with blocks of n bytes, or else
// the algorithm that the rules choose. Config's parameters count in both cases. ordered asks for an
// algorithm that folds contributions in the order of the ranks.
func (c *Comm) chosen(collective string, n int, ordered bool) (chosen, error) {
	given := c.cfg.Algorithms[collective]
	if given.Name != "" {
		return chosen{given, c.cfg.Chunk}, nil
	}
	of := c.caseOf(collective, n)
	of.Ordered = ordered
	d, ok := c.cfg.source.decide(c.cfg.Rules, of)
	if !ok {
		if ordered {
			collective += " that folds in the order of the ranks, since the operation does not commute"
		}
		return chosen{}, fmt.Errorf("%w: no rule chooses an algorithm for %s: Config.Algorithms may name one, and Use takes a schedule", ErrInput, collective)
	}
	return c.by(&d, given), nil
}

// by returns what a decision chooses. given are Config's parameters, which count before those of the
// decision.
func (c *Comm) by(d *selection.Decision, given Algorithm) chosen {
	p := &d.Rule.Params
	given.Name = d.Rule.Algorithm
	given.Params.Degree = cmp.Or(given.Params.Degree, p.Degree)
	given.Params.FanIn = cmp.Or(given.Params.FanIn, p.FanIn)
	given.Params.FanOut = cmp.Or(given.Params.FanOut, p.FanOut)
	given.Params.Hosts = cmp.Or(given.Params.Hosts, d.Hosts)
	if c.cfg.Chunk > 0 {
		return chosen{given, c.cfg.Chunk}
	}
	given.Params.Chunks = cmp.Or(given.Params.Chunks, p.Chunks)
	return chosen{given, p.Chunk}
}

// rulesWords names the rules of this rank for comparison, and tells if it learns; it returns "" for
// the built-in rules.
func (cfg *Config) rulesWords() string {
	var words []string
	if r := cfg.Rules; r != nil && r.Digest() != 0 {
		words = append(words, fmt.Sprintf("rules %016x", r.Digest()))
	}
	if cfg.Learn != "" {
		words = append(words, "learning")
	}
	if cfg.Learn != "" && cfg.MPI {
		words = append(words, "with an MPI")
	}
	return strings.Join(words, ", ")
}

// caseOf returns the case that the rules decide for an operation of n bytes. It is the same at all
// ranks.
func (c *Comm) caseOf(collective string, n int) selection.Case {
	of := c.general
	of.Collective, of.Bytes, of.Reproducible = collective, n, c.cfg.Reproducible && c.folds(collective)
	return of
}

// chunks returns the number of chunks of a block of n bytes. It is the same at all ranks, since all
// know n and have agreed on the size of a datagram.
func (c *Comm) chunks(ch *chosen, row *ir.Collective, n int) int {
	if ch.Params.Chunks > 0 {
		return ch.Params.Chunks
	}
	of := c.caseOf(row.Name, n)
	a := c.cfg.source.named(ch.Name)
	return of.Chunks(&a, row.Blocks(c.size), ch.Params.Hosts, ch.chunk, c.caps.Datagram)
}

// startAndWait starts an operation and waits for it. If f is counted, call has the counts.
func (c *Comm) startAndWait(ctx context.Context, k kind, mem *core.Buffers, root int, f *form, call *Call) error {
	if !c.occupy() {
		return ErrBusy
	}
	if f.counted {
		c.lengths.set(mem, call, f.shared)
	}
	err := c.operate(ctx, k, mem, root, f)
	if f.counted {
		c.lengths = lengths{}
	}
	c.vacate()
	c.raise(err)
	return err
}

// operate runs an operation under the plan for it.
func (c *Comm) operate(ctx context.Context, k kind, mem *core.Buffers, root int, f *form) error {
	if c.learned != nil {
		own := *mem // the memory of others need not be allocated
		return c.learned.operate(ctx, k, &own, root, *f)
	}
	p, err := c.planOf(k, mem, root, f)
	if err != nil {
		return err
	}
	c.ran = p
	return c.run(ctx, p, mem)
}

// occupy takes the driver's lock for a call that only one goroutine may make at a time. If another
// goroutine is inside such a call, occupy returns false and does not hold the lock.
func (c *Comm) occupy() bool {
	c.drv.mu.Lock()
	if c.busy {
		c.drv.mu.Unlock()
		return false
	}
	c.busy = true
	return true
}

// vacate undoes occupy.
func (c *Comm) vacate() {
	c.busy = false
	c.drv.mu.Unlock()
}

// run runs an operation under p: at once if it can, and otherwise in c.blocking, so that it
// allocates nothing. run uses no defer: over shared memory a defer costs as much as the rest of the
// call.
func (c *Comm) run(ctx context.Context, p *plan, mem *core.Buffers) error {
	if c.quick(ctx, p, mem, true) {
		return nil
	}
	r := &c.blocking
	if err := c.ready(r, ctx, p, mem); err != nil {
		return err
	}
	return c.call(r)
}

// call starts r and drives until r has ended.
func (c *Comm) call(r *Request) error {
	c.enter()
	err := c.perform(r)
	c.leave()
	return err
}

// perform starts r and waits until r has ended. The caller is inside enter and leave.
func (c *Comm) perform(r *Request) error {
	c.start(r)
	if err := c.await(r.ctx, r); err != nil && !r.ended {
		c.fail(r, err)
	}
	return r.err
}

// planOf returns the plan of a call, or why there is none. It does not consult Config when a recent
// operation had the same arguments.
func (c *Comm) planOf(k kind, mem *core.Buffers, root int, f *form) (*plan, error) {
	n := mem.Block
	if f.local() {
		n = 0 // only lengths that all ranks know may choose a plan
	}
	last := c.plans.last(k, n, root)
	if last.plan == nil || last.bytes != n || last.root != root || last.form != *f {
		p, err := c.planAnew(k, n, root, f)
		if err != nil {
			return nil, c.refuseInside(err)
		}
		*last = recent{n, root, *f, p}
	}
	if f.local() {
		if err := c.fitsFrames(c.plans.row(k), mem.Block, last.plan.Chunks); err != nil {
			return nil, c.refuseInside(err)
		}
	}
	return last.plan, nil
}

// planAnew returns the plan of an operation with blocks of n bytes, or of at most n bytes if blocks
// have lengths of their own. n is 0 if not all ranks know all lengths.
func (c *Comm) planAnew(k kind, n, root int, f *form) (*plan, error) {
	if err := c.core.Err(); err != nil {
		return nil, err
	}
	p, err := c.find(k, n, root, *f)
	if err != nil {
		return nil, err
	}
	return p, c.fitsFrames(c.plans.row(k), n, p.Chunks)
}

// fitsFrames returns an error if a chunk of a block of n bytes is longer than a frame can carry.
// All ranks know n and the number of chunks, so all ranks get the same result.
func (c *Comm) fitsFrames(row *ir.Collective, n, chunks int) error {
	if row.Blocks == nil || chunks < 1 {
		return nil
	}
	per := chunks / row.Blocks(c.size)
	if (n-1)/per < wire.MaxBody {
		return nil
	}
	return fmt.Errorf("%w: %s: %d bytes in chunks of %d, at most %d in each", ErrInput, row.Name, n, (n-1)/per+1, wire.MaxBody)
}

func (c *Comm) find(k kind, n, root int, f form) (*plan, error) {
	local := f.local()
	p, err := c.used.plan(k, root)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %w", ErrInput, c.plans.row(k).Name, err)
	case p != nil && local && p.relays():
		return nil, c.relayed(k, p)
	case p == nil && local:
		p, err = c.chooseDirect(k, root)
	case p == nil:
		p, err = c.choose(k, n, root, f)
	}
	if err == nil && f.fold != "" {
		err = c.servesFold(k, p, f)
	}
	if err != nil {
		return nil, err
	}
	return p.as(f), nil
}
