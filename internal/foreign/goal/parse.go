package goal

import (
	"io"

	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/ir"
)

// Parse reads a file. It is strict: the error is an [*ir.ParseError] with the line and column of
// the first fault. It reads a stream and needs memory in proportion to the input read, whatever
// numbers the file claims.
//
// Parse refuses a receive from any rank or with any tag, because the message that it takes depends
// on timing and nothing could be proved.
func Parse(r io.Reader) (*dag.Graph, error) {
	p := &parser{scanner: newScanner(r), graph: dag.Graph{Unit: "bytes"}}
	p.advance()
	p.file()
	if p.err != nil {
		return nil, p.err
	}
	return &p.graph, nil
}

type parser struct {
	*scanner
	t     token // the next token
	graph dag.Graph
	ranks int // as the file says
	ops   int // of all ranks
	edges int

	// The rank that is being read.
	rank
}

func (p *parser) advance() { p.t = p.next() }

func (p *parser) fail(format string, args ...any) { p.failAt(p.t.line, p.t.col, format, args...) }

func (p *parser) expected(what string) { p.fail("expected %s, found %s", what, p.t.spell()) }

func (p *parser) emptyLines() {
	for p.t.kind == tokenLine {
		p.advance()
	}
}

func (p *parser) file() {
	p.emptyLines()
	p.word("num_ranks")
	p.graph.Message, p.remarks = p.message, false
	p.ranks = p.number("the number of ranks", 1, ir.MaxRanks)
	p.emptyLines()
	for p.err == nil && p.t.kind != tokenEnd {
		if len(p.graph.Ranks) == p.ranks {
			p.expected("the end of the file, as all ranks are there")
			return
		}
		p.program()
		p.emptyLines()
	}
	if len(p.graph.Ranks) < p.ranks {
		p.fail("the file ends after %d of %d ranks", len(p.graph.Ranks), p.ranks)
	}
}

// word consumes the word w.
func (p *parser) word(w string) {
	if p.t.kind != tokenWord || p.t.text != w {
		p.expected(`"` + w + `"`)
		return
	}
	p.advance()
}

// number consumes a number in lo … hi.
func (p *parser) number(what string, lo, hi int) int {
	if p.t.kind != tokenNumber {
		p.expected(what)
		return lo
	}
	v := p.t.number
	if v < lo || v > hi {
		p.fail("%s, %s, is out of range %d … %d", what, p.t.text, lo, hi)
		return lo
	}
	p.advance()
	return v
}

func (p *parser) mark(m string) {
	if p.t.kind != tokenMark || p.t.text != m {
		p.expected(`"` + m + `"`)
		return
	}
	p.advance()
}

func (p *parser) endOfLine() {
	if p.err == nil && p.t.kind != tokenLine && !p.at("}") {
		p.expected("the end of the line")
	}
}

func (p *parser) at(mark string) bool { return p.t.kind == tokenMark && p.t.text == mark }

func (p *parser) program() {
	p.word("rank")
	next := len(p.graph.Ranks)
	t := p.t
	if n := p.number("the rank", 0, p.ranks-1); n != next && p.err == nil {
		p.failAt(t.line, t.col, "rank %d stands where rank %d is due: ranks come in ascending order, each once", n, next)
	}
	p.emptyLines()
	p.mark("{")
	p.rank = newRank()
	for p.err == nil && !p.at("}") {
		p.lineOf()
	}
	if p.err == nil {
		p.advance()
		p.graph.Ranks = append(p.graph.Ranks, p.rank.finish())
	}
}

// lineOf reads one line of a rank.
func (p *parser) lineOf() {
	switch {
	case p.t.kind == tokenLine:
		p.advance()
		return
	case p.t.kind == tokenEnd && p.err == nil:
		p.fail("rank %d has no closing brace", len(p.graph.Ranks))
		return
	case p.t.kind != tokenWord:
		p.expected("an operation or a label")
		return
	}
	first := p.t
	p.advance()
	switch {
	case p.at(":"):
		p.advance()
		op := p.t
		if op.kind != tokenWord {
			p.expected("send, recv or calc")
			return
		}
		p.advance()
		p.operation(first, op)
	case p.t.kind == tokenWord && (p.t.text == "requires" || p.t.text == "irequires"):
		p.edge(first)
	default:
		p.operation(token{}, first)
	}
	p.endOfLine()
}
