package core

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
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
	Kernel   Kernel
	// Trusted says that Kernel neither panics nor ends its goroutine, so it is called without a
	// guard. The kernels of package fold can be trusted.
	Trusted bool
}

// cells say where the partial results of a rank lie.
type cells struct {
	per   int     // chunks of a block
	of    []int32 // by partial result: its cell
	parts []int32 // by cell: it is as long as this part of the contributions
	late  bool    // a fold reads a contribution after it has begun to write its result
}

// cellsOf returns the cells of a rank with the given program outline. parts are the parts of its
// partial results.
func cellsOf(h *ir.Header, outline *ir.Program, parts []int32) cells {
	c := cells{per: h.BlockChunks()}
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
	with   Fold        // its Element is 1 if the operation does not fold; chunks are cut at elements
	memory []byte      // partial results, and the copy of In if there is one
	bounds []int       // start of each cell in memory, and the end of the last one
	made   []ir.Slot   // slots that folds have made and whose rules have not fired yet
	copied int         // bytes of the copy of In, at the end of memory
	later  []ir.Action // long folds still to do, in order
	done   int         // bytes of the first of later that are done
}

// openFolds prepares o to fold. It may use memory. If results would overwrite contributions, it
// copies the contributions, since later folds may read them.
func (o *op) openFolds(memory []byte) {
	f := &o.folds
	f.made, f.later, f.done = f.made[:0], f.later[:0], 0
	f.bounds = append(f.bounds[:0], 0)
	end, per := 0, o.plan.cells.per
	for _, part := range o.plan.cells.parts {
		_, n := o.inputBlock(int(part) / per)
		lo, hi := o.bounds(n, int(part)%per)
		end += hi - lo
		f.bounds = append(f.bounds, end)
	}
	if f.copied = 0; o.mem.isInPlace() && (!o.plan.InPlace || o.plan.cells.late) {
		f.copied = len(o.mem.In)
	}
	f.memory = grown(memory, end+f.copied)
	if f.copied > 0 {
		copy(f.memory[end:], o.mem.In)
		o.mem.In = f.memory[end:]
	}
}

// bounds returns the start and end of chunk k in a block of n bytes.
func (o *op) bounds(n, k int) (lo, hi int) {
	per := o.plan.places.per
	if o.folds.with.Element <= 1 {
		return ir.ChunkBounds(n, per, k)
	}
	lo, hi = ir.ChunkBounds(n/o.folds.with.Element, per, k)
	return lo * o.folds.with.Element, hi * o.folds.with.Element
}

// inputBlock returns the start of a block of the contribution in In, and its length in bytes.
func (o *op) inputBlock(block int) (at, n int) {
	if o.spans.on {
		return o.spans.in[block], o.spans.in[block+1] - o.spans.in[block]
	}
	return block * o.n, o.n
}

// locate returns the memory for the bytes of a slot, with start and end.
func (o *op) locate(s ir.Slot) (mem []byte, lo, hi int) {
	switch s.Kind() {
	case ir.KindValue:
		f, cell := &o.folds, o.plan.cells.of[s.Index()]
		return f.memory, f.bounds[cell], f.bounds[cell+1]
	case ir.KindInput:
		at, n := o.inputBlock(s.Index() / o.plan.cells.per)
		lo, hi = o.bounds(n, s.Index()%o.plan.cells.per)
		return o.mem.In, at + lo, at + hi
	}
	return o.locateChunk(s.Index())
}

// bytesOf returns the memory for the bytes of a slot.
func (o *op) bytesOf(s ir.Slot) []byte {
	if o.n == 0 {
		return nil
	}
	mem, lo, hi := o.locate(s)
	return mem[lo:hi:hi]
}

// valuesFrom returns the memory for n partial results from number first on, and their length in
// bytes. all is nil if they do not lie one behind the other.
func (o *op) valuesFrom(first, n int) (all []byte, bytes int) {
	if o.n == 0 {
		return nil, 0
	}
	f, of := &o.folds, o.plan.cells.of[first:first+n]
	together := true
	for i, cell := range of {
		bytes += f.bounds[cell+1] - f.bounds[cell]
		together = together && cell == of[0]+int32(i)
	}
	if !together {
		return nil, bytes
	}
	lo := f.bounds[of[0]]
	return f.memory[lo : lo+bytes : lo+bytes], bytes
}

// fold makes a slot of o from operands: now, or later if they are longer than ops.FoldAtOnce bytes.
func (ops *operations) fold(o *op, operands []ir.Action) {
	made := operands[0].As
	if o.machine.Has(made) {
		return // it came from another rank, with the same bytes
	}
	dst := o.bytesOf(made)
	if ops.FoldAtOnce > 0 && len(dst) > ops.FoldAtOnce {
		o.folds.later = append(o.folds.later, operands...) // a copy: the rules' actions may be scratch
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
		if o := ops.open(seq); o != nil && len(o.folds.later) > 0 {
			ops.work(o)
			return true
		}
	}
	ops.folding = false
	return false
}

func (ops *operations) work(o *op) {
	f := &o.folds
	fold := ir.MessageOf(f.later)
	if o.machine.Has(fold[0].As) { // it has come meanwhile, and others may read it already
		f.later, f.done = slices.Delete(f.later, 0, len(fold)), 0
		ops.resume()
		return
	}
	dst := o.bytesOf(fold[0].As)
	part := ops.FoldAtOnce - ops.FoldAtOnce%f.with.Element
	end := min(f.done+max(part, f.with.Element), len(dst))
	if !ops.foldPart(o, fold, dst, f.done, end) {
		return
	}
	if f.done = end; end < len(dst) {
		return
	}
	made := fold[0].As
	f.later, f.done = slices.Delete(f.later, 0, len(fold)), 0
	ops.trace(EventFolded, o.seq, made, -1)
	ops.set(o, made)
}

// runOf returns how many of the first actions of a message go in one frame, and the frame's body.
// Their slots lie one behind the other here, and become partial results with consecutive numbers at
// the destination.
func (o *op) runOf(message []ir.Action) (n int, body []byte) {
	if o.n == 0 {
		for n = 1; n < len(message) && follows(message, n); n++ {
		}
		return n, nil
	}
	mem, lo, end := o.locate(message[0].Slot)
	for n = 1; n < len(message) && follows(message, n); n++ {
		other, from, to := o.locate(message[n].Slot)
		if from != end || len(other) != len(mem) || len(mem) > 0 && &other[0] != &mem[0] || to-lo > wire.MaxBody {
			break
		}
		end = to
	}
	return n, mem[lo:end:end]
}

// follows reports whether actions n-1 and n of a message make consecutive partial results.
func follows(message []ir.Action, n int) bool {
	a, before := &message[n], &message[n-1]
	return a.Joins && a.As != ir.None && a.As == before.As+1
}

// putValues puts as many of the first actions of a message as go in one frame, and returns how
// many. The actions make partial results at the destination.
func (ops *operations) putValues(o *op, message []ir.Action) (n int) {
	n, body := o.runOf(message)
	f, as, to := ops.fill(o, message[0].As), message[0].As, int(message[0].To)
	f.Body, f.Len, f.Arg = body, len(body), uint32(n-1)
	o.unsent++
	for i := range n {
		ops.trace(EventPut, o.seq, as+ir.Slot(i), to)
	}
	ops.put(to, f)
	return n
}

// bufferValues decides where the body of a frame of partial results goes.
func (ops *operations) bufferValues(o *op, h *wire.Header) ([]byte, wire.Verdict) {
	first, n := h.Slot.Index(), int(h.Arg)+1
	if n < 1 || n > len(o.plan.cells.of)-first {
		ops.fate.violation(h, "%d partial results from %v on do not exist here", n, h.Slot)
		return nil, wire.Drop
	}
	if o.state != opActive || o.machine.Has(h.Slot) {
		return nil, wire.Drop
	}
	dst, want := o.valuesFrom(first, n)
	switch {
	case want != h.Len:
		ops.misfit(o, h, n, want)
		return nil, wire.Drop
	case dst == nil && want > 0:
		return ops.apart.buffer(h), wire.Accept
	}
	return dst, wire.Accept
}

// valuesArrived takes the partial results of one frame.
func (ops *operations) valuesArrived(o *op, h *wire.Header, body []byte) {
	first, n := h.Slot.Index(), int(h.Arg)+1
	if dst, bytes := o.valuesFrom(first, n); dst == nil && bytes > 0 {
		for i := range n {
			body = body[copy(o.bytesOf(ir.Value(first+i)), body):]
		}
		ops.apart.drop(h)
	}
	for i := range n {
		s := ir.Value(first + i)
		ops.traceNew(EventArrived, o, s, h.From)
		ops.set(o, s)
	}
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
	if cap(o.folds.memory) > 0 {
		ops.spare = append(ops.spare, o.folds.memory)
		o.folds.memory = nil
	}
	if o.plan.folds {
		o.mem.In = nil // no rank asks for contributions
	}
}
