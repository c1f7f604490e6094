package msccl

import (
	"encoding/xml"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/dag"
)

// Bounds of what is read.
const (
	maxSteps  = 1 << 22 // of all GPUs
	maxMoved  = 1 << 22 // chunks that all steps move
	maxChunks = 1 << 16 // of a buffer; the runtimes take far fewer
	maxBlocks = 1 << 20 // of a GPU, and its channels
)

// Parse reads a file. It is strict, reads in a stream and holds memory in
// proportion to what it has read, whatever the file claims. The error is an
// [*ir.ParseError] with the line of the first fault.
func Parse(r io.Reader) (*dag.Graph, error) {
	p := &parser{document: newDocument(r)}
	p.file()
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
	inPlace  bool
	layouts  []layout // by GPU
	steps    int      // so far
	moved    int      // chunks, so far
}

// layout is how many cells the buffers of a GPU have.
type layout struct {
	in, out, scratch int
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
	a := p.open(e, "algo", []string{"name", "coll", "ngpus", "nchunksperloop"},
		[]string{"proto", "nchannels", "inplace", "outofplace", "minBytes", "maxBytes", "redop", "nthreads"})
	switch coll := a.value["coll"]; coll {
	case "broadcast":
		p.graph.As = "bcast"
	case "custom": // of a program that does not say
	default:
		p.fail("<algo>: the file says coll=%q, which is not read; coll=\"broadcast\" is, and coll=\"custom\", which does not say what the file does", coll)
	}
	p.gpus = a.int("ngpus", 1, ir.MaxRanks)
	a.int("nchunksperloop", 1, maxChunks)
	p.channels = a.optional("nchannels", maxBlocks, 1, maxBlocks)
	p.inPlace = a.optional("inplace", 0, 0, 1) == 1
	a.optional("outofplace", 0, 0, 1)
	p.children("algo", p.gpu)
	if p.err == nil && len(p.layouts) < p.gpus {
		p.fail("%d of %d GPUs are there", len(p.layouts), p.gpus)
	}
	if p.err == nil {
		p.graph.Unit = "chunks"
		p.graph.Cells = p.cells()
	}
}

func (p *parser) gpu(e xml.StartElement) {
	a := p.open(e, "gpu", []string{"id", "i_chunks", "o_chunks", "s_chunks"}, nil)
	id := a.int("id", 0, p.gpus-1)
	l := layout{a.int("i_chunks", 0, maxChunks), a.int("o_chunks", 0, maxChunks), a.int("s_chunks", 0, maxChunks)}
	if p.err != nil {
		return
	}
	if due := len(p.layouts); id != due {
		p.fail("<gpu>: id %d where %d is due: they come in ascending order, each once", id, due)
		return
	}
	if p.inPlace {
		l.out = max(l.in, l.out)
		l.in = l.out
	}
	p.layouts = append(p.layouts, l)
	g := gpu{parser: p, layout: l, id: id, blocks: make(map[int]block)}
	p.children("gpu", g.block)
	p.graph.Ranks = append(p.graph.Ranks, g.finish())
}

// cells describes the memory: of each GPU the output, then the input, which in
// place is the same, then the scratch buffer.
func (p *parser) cells() *dag.Cells {
	c := &dag.Cells{Spell: p.spell}
	for _, l := range p.layouts {
		c.Input = append(c.Input, dag.Span{From: p.base("i", l), Len: l.in})
		c.Result = append(c.Result, dag.Span{From: 0, Len: l.out})
	}
	return c
}

// base returns where a buffer begins.
func (p *parser) base(buffer string, l layout) int {
	switch {
	case buffer == "o" || buffer == "i" && p.inPlace:
		return 0
	case buffer == "i":
		return l.out
	case p.inPlace:
		return l.out
	}
	return l.out + l.in
}

// spell names a cell as the file does: buffer and offset.
func (p *parser) spell(rank, cell int) string {
	l := p.layouts[rank]
	switch {
	case cell < l.out:
		return fmt.Sprintf("o[%d]", cell)
	case cell >= p.base("s", l):
		return fmt.Sprintf("s[%d]", cell-p.base("s", l))
	}
	return fmt.Sprintf("i[%d]", cell-l.out)
}
