package core

import (
	"github.com/schedgen/schedgen/internal/core/flow"
	"github.com/schedgen/schedgen/ir"
)

// Contributions lie in the caller's In, and results in its Out, like blocks of other collectives.
// Partial results lie in memory of the core, in cells of one chunk each. A fold that makes a
// partial result overwrites an operand that nothing else reads. So an allreduce of a long vector
// needs about as much memory besides the caller's as the vector has.

// Kernel folds two vectors of equal length, element by element: dst[i] becomes a[i]·b[i], with a as
// the left operand. dst may be a or b, or share no memory with either.
type Kernel func(dst, a, b []byte)

// Fold is the operation that folds contributions.
type Fold struct {
	Name     string // describes the operation; ranks must agree on it: "sum of float64"
	Element  int    // bytes of an element, at least 1: chunks are cut at elements
	Commutes bool   // a·b has the same bits as b·a, so contributions need not be folded in the order of ranks
	Exact    bool   // any order and any brackets give the same bits
	Kernel   Kernel
	// Trusted says that Kernel neither panics nor ends its goroutine, so it is called without a
	// guard. The kernels of package fold can be trusted.
	Trusted bool
}

// cells say where the partial results of a rank lie.
type cells struct {
	of    []int32 // by partial result: its cell
	parts []int32 // by cell: it is as long as this part of the contributions
	late  bool    // a fold reads a contribution after it has begun to write its result
}

// cellsOf returns the cells of a rank with the given program outline. parts are the parts of its
// partial results.
func cellsOf(outline *ir.Program, parts []int32) (c cells) {
	for i := range outline.Rules {
		for do := outline.Rules[i].Do; len(do) > 0; {
			fold := ir.MessageOf(do)
			do = do[len(fold):]
			for _, a := range fold[min(2, len(fold)):] {
				c.late = c.late || a.Op == ir.Fold && a.Slot.Kind() == ir.KindInput
			}
		}
	}
	if len(parts) == 0 {
		return c
	}
	reads := make([]int32, len(parts))
	over := make([]int32, len(parts)) // 1 + the partial result that this one overwrites
	for i := range outline.Rules {
		for _, a := range outline.Rules[i].Do {
			if a.Slot.Kind() == ir.KindValue {
				reads[a.Slot.Index()]++
			}
		}
	}
	for i := range outline.Rules {
		for do := outline.Rules[i].Do; len(do) > 0; {
			fold := ir.MessageOf(do)
			do = do[len(fold):]
			if fold[0].Op != ir.Fold || fold[0].As.Kind() != ir.KindValue {
				continue
			}
			for _, a := range fold[:min(2, len(fold))] { // a fold reads the first two operands before it writes
				if a.Slot.Kind() == ir.KindValue && reads[a.Slot.Index()] == 1 {
					over[fold[0].As.Index()] = int32(a.Slot.Index()) + 1
					break
				}
			}
		}
	}
	c.of = make([]int32, len(parts))
	for v := range parts {
		if over[v] == 0 {
			c.of[v] = int32(len(c.parts))
			c.parts = append(c.parts, parts[v])
		}
	}
	for v := range parts {
		first := v
		for over[first] != 0 {
			first = int(over[first]) - 1
		}
		c.of[v] = c.of[first]
	}
	return c
}

// folding is the state of an operation that folds.
type folding struct {
	with Fold      `state:"ignored"` // its Element is 1 if the operation does not fold; chunks are cut at elements
	made []ir.Slot `state:"scratch"` // slots that folds have made and whose rules have not fired yet
	done int       // bytes of the first fold in the outbox that are done
}

// openFolds prepares o to fold. It may use memory. If results would overwrite contributions, it
// copies the contributions, since later folds may read them.
func (o *op) openFolds(memory []byte) {
	f, c := &o.folds, &o.plan.places.cells
	f.made, f.done = f.made[:0], 0
	o.memory.openCells(c, memory, o.memory.inPlace() && (!o.plan.InPlace || c.late))
}

// fold makes a slot of o from operands: now, or later if they are longer than ops.FoldAtOnce bytes.
func (ops *operations) fold(o *op, operands []ir.Action) {
	made := operands[0].As
	if o.machine.Has(made) {
		return // it came from another rank, with the same bytes
	}
	dst := o.bytesOf(made)
	if ops.FoldAtOnce > 0 && len(dst) > ops.FoldAtOnce {
		o.outbox.Add(flow.ByWork, operands...)
		ops.folding = true
		return
	}
	if ops.foldPart(o, operands, dst, 0, len(dst)) {
		o.folds.made = append(o.folds.made, made)
	}
}

// foldPart makes bytes lo … hi-1 of dst from operands, from left to right. If the kernel panics,
// foldPart fails the core and returns false.
func (ops *operations) foldPart(o *op, operands []ir.Action, dst []byte, lo, hi int) bool {
	if lo == hi {
		return true
	}
	dst = dst[lo:hi]
	left := o.bytesOf(operands[0].Slot)[lo:hi]
	if len(operands) == 1 {
		copy(dst, left)
		return true
	}
	for _, a := range operands[1:] {
		if err := o.folds.with.apply(dst, left, o.bytesOf(a.Slot)[lo:hi]); err != nil {
			e := &OpError{Op: o.plan.Name, Rank: ops.Rank, Epoch: ops.Epoch, Seq: o.seq, Err: err}
			ops.progress(e)
			ops.fate.fail(e, true)
			return false
		}
		left = dst
	}
	return true
}

// Work does a part of a long fold, and reports whether there was one. The driver can take arriving
// frames between two parts.
func (c *Core) Work() bool {
	ops := &c.ops
	if !ops.folding || c.fate.err != nil {
		return false
	}
	for seq := ops.complete + 1; seq <= ops.seq; seq++ {
		if o := ops.open(seq); o != nil && o.outbox.Has(flow.ByWork) {
			ops.work(o)
			return true
		}
	}
	ops.folding = false
	return false
}

// work does a part of the first fold in the outbox of o.
func (ops *operations) work(o *op) {
	f := &o.folds
	fold := ir.MessageOf(o.outbox.All(flow.ByWork))
	made, dst := fold[0].As, o.bytesOf(fold[0].As)
	end := len(dst)
	has := o.machine.Has(made) // it has come meanwhile, and others may read it already
	if !has {
		part := ops.FoldAtOnce - ops.FoldAtOnce%f.with.Element
		end = min(f.done+max(part, f.with.Element), end)
		if !ops.foldPart(o, fold, dst, f.done, end) {
			return
		}
	}
	if f.done = end; end < len(dst) {
		return
	}
	o.outbox.Pop(flow.ByWork, len(fold))
	f.done = 0
	if has {
		ops.resume()
		return
	}
	ops.trace(EventFolded, o.seq, made, -1)
	ops.set(o, made)
}

// foldMemory returns memory for partial results; foldDone takes it back.
func (ops *operations) foldMemory() []byte {
	last := len(ops.spare) - 1
	if last < 0 {
		return nil
	}
	m := ops.spare[last]
	ops.spare = ops.spare[:last]
	return m
}

// foldDone takes back the memory for partial results of an operation that has ended.
func (ops *operations) foldDone(o *op) {
	if cells := &o.memory.areas[areaCells]; cap(cells.bytes) > 0 {
		ops.spare = append(ops.spare, cells.bytes)
		cells.bytes = nil
	}
	if o.plan.places.folds {
		o.memory.areas[areaIn].bytes = nil // no rank asks for contributions
	}
}
