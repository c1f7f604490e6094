package msccl

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/ir"
)

// Bounds of the input.
const (
	maxSteps  = 1 << 22 // of all GPUs
	maxMoved  = 1 << 22 // chunks that all steps move
	maxChunks = 1 << 16 // of a buffer; the runtimes accept far fewer
	maxBlocks = 1 << 20 // of a GPU; also bounds its channels
)

// Parse reads a file. It is strict: the error is an [*ir.ParseError] with the line of the first
// fault. It reads a stream and needs memory in proportion to the input read, whatever numbers the
// file claims.
func Parse(r io.Reader) (*dag.Graph, error) {
	var text bytes.Buffer
	p := &parser{document: newDocument(io.TeeReader(r, &text))}
	p.file()
	if p.err == nil && p.inPlace && p.apart {
		q := &parser{document: newDocument(&text), onlyApart: true}
		q.file()
		p.graph.Apart, p.err = &q.graph, q.err
	}
	if p.err != nil {
		return nil, p.err
	}
	return &p.graph, nil
}

type parser struct {
	*document
	graph    dag.Graph
	gpus     int
	channels int
	inPlace  bool      // input and output share memory
	apart    bool      // the file says that it works with both apart, too
	header   ir.Header // the collective and ranks that the file claims
	layouts  []layout  // by GPU

	onlyApart bool // read the file as if it did not say that it works in place
	steps     int  // so far
	moved     int  // chunks, so far
}

// layout holds the number of cells of each buffer of a GPU, and the first cell of each. In an
// in-place algorithm, input and output share memory.
type layout struct {
	in, out, scratch       int
	inAt, outAt, scratchAt int
}

func (p *parser) file() {
	t, ok := p.next().(xml.StartElement)
	if !ok {
		p.fail("expected <algo>")
		return
	}
	p.algo(t)
	if p.err == nil && p.next() != nil {
		p.fail("more after </algo>")
	}
}

func (p *parser) algo(e xml.StartElement) {
	a := p.open(e, "algo", []string{"name", "ngpus", "nchunksperloop"},
		[]string{"coll", "proto", "nchannels", "inplace", "outofplace", "minBytes", "maxBytes", "redop", "nthreads", "maxcount", "nthreadblocks"})
	coll := cmp.Or(a.value["coll"], custom)
	as, ok := collectiveOf(coll)
	if !ok {
		p.fail("<algo>: unknown coll=%q; known are %s, and %s, which does not say what the file does", coll, known(), custom)
	}
	p.graph.As = as
	p.gpus = a.int("ngpus", 1, ir.MaxRanks)
	a.int("nchunksperloop", 1, maxChunks)
	p.channels = a.optional("nchannels", maxBlocks, 1, maxBlocks)
	p.inPlace = a.optional("inplace", 0, 0, 1) == 1 && !p.onlyApart
	p.apart = a.optional("outofplace", 0, 0, 1) == 1
	p.header = ir.Header{Collective: as, Ranks: p.gpus}
	if blocks := p.header.Blocks(); p.inPlace && p.header.Rooted() && blocks > 1 {
		p.fail("<algo>: inplace=\"1\" with coll=%q: only the root has both buffers in one, and the file does not say which GPU that is", coll)
	}
	p.children("algo", p.gpu)
	if p.err == nil && len(p.layouts) < p.gpus {
		p.fail("the file has only %d of %d GPUs", len(p.layouts), p.gpus)
	}
	if p.err == nil {
		p.graph.Unit = "chunks"
		p.graph.Cells = p.cells()
	}
}

func (p *parser) gpu(e xml.StartElement) {
	a := p.open(e, "gpu", []string{"id", "i_chunks", "o_chunks", "s_chunks"}, nil)
	id := a.int("id", 0, p.gpus-1)
	l := layout{in: a.int("i_chunks", 0, maxChunks), out: a.int("o_chunks", 0, maxChunks), scratch: a.int("s_chunks", 0, maxChunks)}
	if p.err != nil {
		return
	}
	if due := len(p.layouts); id != due {
		p.fail("<gpu>: id %d where %d is due: they come in ascending order, each once", id, due)
		return
	}
	if p.inPlace {
		l = p.share(id, l)
	} else {
		l.inAt, l.scratchAt = l.out, l.out+l.in
	}
	p.layouts = append(p.layouts, l)
	g := gpu{parser: p, layout: l, id: id, blocks: make(map[int]block)}
	p.children("gpu", g.child)
	p.graph.Ranks = append(p.graph.Ranks, g.finish())
}

// share puts input and output into one buffer. A block that the GPU both holds and wants has one
// place there, so the input of an allgather is part of its output. A block that is folded has one
// place too, so the output of a reduce-scatter is part of its input.
func (p *parser) share(id int, l layout) layout {
	whole := max(l.in, l.out)
	l.scratchAt = whole
	row := p.header.Row()
	if row != nil && row.Inputs != nil && row.Inputs(p.gpus) > 1 {
		wanted, per := row.Wanted(p.gpus, 0, id), whole/row.Inputs(p.gpus)
		l.in, l.out = whole, wanted.Count*per
		if wanted.Count > 0 {
			l.outAt = wanted.First % row.Inputs(p.gpus) * per
		}
		return l
	}
	l.out = whole
	if row != nil && row.Inputs == nil && !row.Rooted {
		held, wanted := row.Held(p.gpus, 0, id), row.Wanted(p.gpus, 0, id)
		for i := range held.Count {
			if at := wanted.Index(held.At(i)); at >= 0 {
				per := l.out / wanted.Count
				l.inAt, l.in = (at-i)*per, held.Count*per
				break
			}
		}
		return l
	}
	l.in = l.out
	return l
}

// cells describes the memory. Each GPU has the output, then the input, then the scratch buffer. In
// place, input and output overlap.
func (p *parser) cells() *dag.Cells {
	c := &dag.Cells{Spell: p.spell}
	for _, l := range p.layouts {
		c.Input = append(c.Input, dag.Span{From: l.inAt, Len: l.in})
		c.Result = append(c.Result, dag.Span{From: l.outAt, Len: l.out})
	}
	return c
}

// base returns the first cell of a buffer.
func (l *layout) base(buffer string) int {
	switch buffer {
	case "o":
		return l.outAt
	case "i":
		return l.inAt
	}
	return l.scratchAt
}

// spell names a cell as the file does: by buffer and offset.
func (p *parser) spell(rank, cell int) string {
	l := p.layouts[rank]
	switch {
	case l.outAt <= cell && cell < l.outAt+l.out:
		return fmt.Sprintf("o[%d]", cell-l.outAt)
	case cell >= l.scratchAt:
		return fmt.Sprintf("s[%d]", cell-l.scratchAt)
	}
	return fmt.Sprintf("i[%d]", cell-l.inAt)
}
