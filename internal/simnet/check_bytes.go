package simnet

import (
	"bytes"
	"slices"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
)

// contents returns the blocks of a step, indexed by their numbers.
func (c *checker) contents(step int) [][]byte {
	if c.blocks[step] == nil {
		o := &c.w.sc.Script[step]
		row := o.row()
		blocks := make([][]byte, row.Blocks(c.w.sc.Ranks))
		for b := range blocks {
			blocks[b] = make([]byte, o.length(c.w.sc, step, b))
			r := seeded(c.w.sc.Seed, 'b', uint64(step), uint64(b))
			r.fill(blocks[b])
		}
		c.blocks[step] = blocks
	}
	return c.blocks[step]
}

// length returns the length of a block in bytes.
func (o *Op) length(sc *Scenario, step, block int) int {
	if !o.Counted {
		return o.Bytes
	}
	r := seeded(sc.Seed, 'l', uint64(step), uint64(block))
	return r.below(o.Bytes + 1)
}

// joined returns the bytes of some blocks, concatenated.
func (c *checker) joined(step int, some ir.Blocks) (all []byte) {
	for i := range some.Count {
		all = append(all, c.contents(step)[some.At(i)]...)
	}
	return all
}

// held returns the blocks of o that a rank sends, and wanted the blocks that it receives.
func (w *world) held(rank int, o *Op) ir.Blocks {
	row := o.row()
	return row.Held(w.sc.Ranks, o.Root, rank)
}

func (w *world) wanted(rank int, o *Op) ir.Blocks {
	row := o.row()
	return row.Wanted(w.sc.Ranks, o.Root, rank)
}

// buffersFor returns the buffers that a rank passes to the call. A single block uses one place for
// input and output, as in a broadcast.
func (c *checker) buffersFor(p *process, o *Op) core.Buffers {
	c.checkScribble(p)
	row := o.row()
	if row.Blocks == nil {
		return core.Buffers{}
	}
	held, wanted := c.w.held(p.rank, o), c.w.wanted(p.rank, o)
	if row.Inputs != nil {
		own := c.contribution(p.step, p.rank, o)
		mem := core.Buffers{Block: o.Bytes, Fold: &sum, In: c.buffer(p, len(own))}
		if !c.w.sc.Shared {
			copy(mem.In, own)
		}
		if mem.Out = mem.In; !o.inPlace(c.w.sc, p.step, p.rank) {
			mem.Out = c.buffer(p, wanted.Count*o.Bytes)
		}
		return mem
	}
	if row.Blocks(c.w.sc.Ranks) == 1 && !o.Counted {
		buf := c.buffer(p, o.Bytes)
		if held.Count == 1 && !c.w.sc.Shared {
			copy(buf, c.contents(p.step)[0])
		}
		return core.InPlace(buf)
	}
	mem := core.Buffers{Block: o.Bytes}
	in, bytesIn := c.counts(p.step, o, held)
	out, bytesOut := c.counts(p.step, o, wanted)
	if mem.In, mem.Out = c.buffer(p, bytesIn), c.buffer(p, bytesOut); !c.w.sc.Shared {
		copy(mem.In, c.joined(p.step, held))
	}
	if o.Counted {
		mem.Counts = &core.Counts{In: in, Out: out, Element: 1, Shared: row.Everywhere(c.w.sc.Ranks, o.Root)}
		mem.Block = max(slices.Max(append(in, 0)), slices.Max(append(out, 0)))
	}
	return mem
}

// counts returns the lengths of some blocks as the calling rank sees them, and their sum.
func (c *checker) counts(step int, o *Op, some ir.Blocks) (lengths []int, sum int) {
	for i := range some.Count {
		n := o.length(c.w.sc, step, some.At(i))
		lengths, sum = append(lengths, n), sum+n
	}
	return lengths, sum
}

// buffer returns n zero bytes, in memory that no call writes to any more.
func (c *checker) buffer(p *process, n int) []byte {
	if c.w.sc.Shared {
		if len(c.shared) < n {
			c.shared = make([]byte, n)
		}
		return c.shared[:n:n]
	}
	var buf []byte
	if n := len(p.spare) - 1; n >= 0 {
		buf, p.spare = p.spare[n], p.spare[:n]
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	clear(buf)
	return buf
}

// checkBytes checks the results of a call, and that the call has not changed the blocks that the
// rank sends.
func (c *checker) checkBytes(p *process, r *request) {
	if c.w.sc.Shared || c.disagreed {
		return
	}
	c.checkBuffer(p, r, "wrong bytes", r.mem.Out, c.brought(p, r))
	row := r.op.row()
	switch {
	case row.Inputs == nil:
		c.checkBuffer(p, r, "other bytes to send", r.mem.In, c.joined(r.step, c.w.held(p.rank, &r.op)))
	case !r.op.inPlace(c.w.sc, r.step, p.rank):
		c.checkBuffer(p, r, "other bytes to contribute", r.mem.In, c.contribution(r.step, p.rank, &r.op))
	}
}

func (c *checker) checkBuffer(p *process, r *request, what string, got, want []byte) {
	if len(got) > len(want) && len(want) == 0 {
		return // a broadcast: the rank holds nothing
	}
	if !bytes.Equal(got, want) {
		at := 0
		for at < len(want) && got[at] == want[at] {
			at++
		}
		c.fail("rank %d has %s in step %d, from %d on of %d", p.rank, what, r.step, at, len(want))
	}
}

// checkAll checks, when the root has finished the acknowledged operation r, that all ranks have the
// message. A rank whose call has failed since then must have had it, or the root would not have
// finished.
func (c *checker) checkAll(root *process, r *request) {
	for _, p := range c.w.procs {
		if p == root || p.state == crashed || p.err != nil || c.w.sc.Shared || c.disagreed {
			continue
		}
		switch own := p.requestOf(r.step); {
		case own == nil && c.enters[p.rank][r.step] > 0:
		case own == nil || own.seq == 0:
			c.fail("the root returns from step %d, which rank %d has not entered", r.step, p.rank)
		case !bytes.Equal(own.mem.Out, c.brought(p, own)):
			c.fail("the root returns from step %d, whose message rank %d has not got", r.step, p.rank)
		}
	}
}

// scribbled fills a buffer once it belongs to its process again.
const scribbled = 0xEE

func (c *checker) scribble(p *process, r *request) {
	if c.w.sc.Shared {
		return
	}
	mem := [][]byte{r.mem.Out, r.mem.In}
	row := r.op.row()
	if row.Inputs != nil && r.op.inPlace(c.w.sc, r.step, p.rank) || row.Inputs == nil && row.Blocks(c.w.sc.Ranks) == 1 && !r.op.Counted {
		mem = mem[:1] // input and output are the same memory
	}
	for _, buf := range mem {
		for i := range buf {
			buf[i] = scribbled
		}
		p.spare = append(p.spare, buf)
	}
}

func (c *checker) checkScribble(p *process) {
	if c.w.sc.Shared || p.err != nil {
		return
	}
	for _, buf := range p.spare {
		for i, b := range buf {
			if b != scribbled {
				c.fail("rank %d: byte %d of a buffer was written after its call had returned", p.rank, i)
				return
			}
		}
	}
}
