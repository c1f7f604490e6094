package msccl

import (
	"encoding/xml"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/ir"
)

// gpu is the GPU that is being read.
type gpu struct {
	*parser
	layout
	id     int
	ops    []dag.Op
	copies []int32 // the operations before all blocks
	blocks map[int]block
	used   map[connection]int // the block that sends or receives there
	waits  []wait
}

// block is one thread block. It refers to each of its steps by the step's last operation.
type block struct {
	send, recv, channel int
	last                []int32
	posts               []bool // by step: its attribute hasdep
}

// connection is one direction between this GPU and a peer on a channel.
type connection struct {
	sends         bool
	peer, channel int
}

// wait is a step's dependency. finish resolves it when all blocks are known.
type wait struct {
	op, block, step int
	line, col       int
}

func (g *gpu) child(e xml.StartElement) {
	if e.Name.Local == "copy" {
		g.copy(e)
		return
	}
	g.block(e)
}

// copy reads a copy from the input to the output, which TACCL puts before the blocks.
func (g *gpu) copy(e xml.StartElement) {
	a := g.open(e, "copy", []string{"i_off", "o_off"}, nil)
	if len(g.blocks) > 0 {
		g.fail("<copy> behind <tb> in gpu %d", g.id)
	}
	from, to := a.int("i_off", 0, g.in-1), a.int("o_off", 0, g.out-1)
	if g.moved++; g.moved > maxMoved {
		g.fail("more than %d chunks are moved", maxMoved)
	}
	if read, write := g.inAt+from, g.outAt+to; g.err == nil && read != write {
		g.copies = append(g.copies, int32(len(g.ops)))
		g.ops = append(g.ops, dag.Op{
			Name: fmt.Sprintf("copy %d", len(g.copies)-1), Line: g.line,
			Move: dag.Move{Read: dag.Span{From: read, Len: 1}, Write: dag.Span{From: write, Len: 1}},
		})
	}
	g.children("copy", func(e xml.StartElement) { g.fail("<%s> within <copy>", e.Name.Local) })
}

func (g *gpu) block(e xml.StartElement) {
	a := g.open(e, "tb", []string{"id", "send", "recv", "chan"}, nil)
	id := a.int("id", 0, maxBlocks-1)
	b := block{send: a.int("send", -1, g.gpus-1), recv: a.int("recv", -1, g.gpus-1), channel: a.int("chan", 0, g.channels-1)}
	if _, twice := g.blocks[id]; twice {
		g.fail("<tb>: id %d twice in gpu %d", id, g.id)
	}
	g.connect(id, connection{true, b.send, b.channel})
	g.connect(id, connection{false, b.recv, b.channel})
	g.children("tb", func(e xml.StartElement) { g.step(id, &b, e) })
	g.blocks[id] = b
}

// connect records that block id uses a connection. No other block may use it.
func (g *gpu) connect(id int, c connection) {
	if c.peer < 0 {
		return
	}
	does := "receives from"
	if c.sends {
		does = "sends to"
	}
	if c.peer == g.id {
		g.fail("<tb>: block %d of gpu %d %s itself", id, g.id, does)
	}
	if was, twice := g.used[c]; twice {
		g.fail("<tb>: block %d of gpu %d %s gpu %d on channel %d, as block %d does", id, g.id, does, c.peer, c.channel, was)
	}
	if g.used == nil {
		g.used = make(map[connection]int)
	}
	g.used[c] = id
}

var stepAttributes = []string{"s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep"}

func (g *gpu) step(id int, b *block, e xml.StartElement) {
	a := g.open(e, "step", stepAttributes, nil)
	if n := a.int("s", 0, maxSteps); n != len(b.last) && g.err == nil {
		g.fail("<step>: s=%d where %d is due", n, len(b.last))
	}
	form := forms[a.word("type", types...)]
	count := a.int("cnt", 0, maxChunks)
	dep, deps := a.int("depid", -1, maxBlocks-1), a.int("deps", -1, maxSteps)
	posts := a.int("hasdep", 0, 1) == 1
	if g.steps++; g.steps > maxSteps {
		g.fail("more than %d steps", maxSteps)
	}
	if g.moved += count; g.moved > maxMoved {
		g.fail("more than %d chunks are moved", maxMoved)
	}
	ops := form.ops(g, a, b, count)
	if g.err != nil {
		g.children("step", g.noChild)
		return
	}
	first := len(g.ops)
	for _, op := range ops {
		op.Name, op.Line = fmt.Sprintf("tb %d step %d", id, len(b.last)), g.line
		g.append(b, op, len(g.ops) == first)
	}
	if dep >= 0 {
		g.waits = append(g.waits, wait{first, dep, deps, g.line, g.col})
	}
	b.last, b.posts = append(b.last, int32(len(g.ops)-1)), append(b.posts, posts)
	g.children("step", g.noChild)
}

// append adds an operation of block b. first says that it is the first operation of its step. It
// comes after the block's previous operation, and the first of a block after all copies.
func (g *gpu) append(b *block, op dag.Op, first bool) {
	switch {
	case !first:
		op.After = []int32{int32(len(g.ops) - 1)}
	case len(b.last) > 0:
		op.After = []int32{b.last[len(b.last)-1]}
	default:
		op.After = slices.Clone(g.copies)
	}
	g.ops = append(g.ops, op)
}

func (g *gpu) noChild(e xml.StartElement) { g.fail("<%s> within <step>", e.Name.Local) }

// finish resolves the dependencies of steps and returns the operations.
func (g *gpu) finish() []dag.Op {
	for _, w := range g.waits {
		b, ok := g.blocks[w.block]
		if g.err != nil {
			return nil
		}
		switch {
		case !ok || w.step < 0 || w.step >= len(b.last):
			g.err = &ir.ParseError{Line: w.line, Col: w.col, Msg: fmt.Sprintf("<step>: waits for step %d of block %d, which gpu %d does not have", w.step, w.block, g.id)}
		case !b.posts[w.step]:
			g.err = &ir.ParseError{Line: w.line, Col: w.col, Msg: fmt.Sprintf("<step>: waits for step %d of block %d, whose hasdep is 0", w.step, w.block)}
		default:
			g.ops[w.op].After = append(g.ops[w.op].After, b.last[w.step])
		}
	}
	return g.ops
}
