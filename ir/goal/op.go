package goal

import "github.com/schedgen/schedgen/ir/dag"

// operation reads what follows the word of an operation.
func (p *parser) operation(label, word token) {
	op := dag.Op{Name: label.text, Line: word.line}
	switch word.text {
	case "send":
		op.Kind = dag.Send
		op.Size = p.bytes()
		p.word("to")
		op.Peer = p.number("the rank to send to", 0, p.ranks-1)
		op.Tag = p.options()
	case "recv":
		op.Kind = dag.Recv
		op.Size = p.bytes()
		p.word("from")
		p.refuseAny("from any rank")
		op.Peer = p.number("the rank to receive from", 0, p.ranks-1)
		op.Tag = p.options()
	case "calc":
		p.number("the time of the calculation", 0, maxBytes)
		p.option("cpu")
	default:
		p.failAt(word.line, word.col, "unknown operation %q; known are send, recv, calc", word.text)
	}
	if p.ops++; p.ops > maxOps {
		p.fail("more than %d operations", maxOps)
	}
	if p.err == nil {
		p.define(p.scanner, label, op)
	}
}

func (p *parser) bytes() int {
	n := p.number("the number of bytes", 0, maxBytes)
	p.word("b")
	return n
}

// options reads the options of a send or receive and returns the tag.
func (p *parser) options() int {
	tag := 0
	if p.t.kind == tokenWord && p.t.text == "tag" {
		p.advance()
		p.refuseAny("with any tag")
		tag = p.number("the tag", 0, maxTag)
	}
	p.option("cpu")
	p.option("nic")
	return tag
}

// option reads an option that says nothing about who waits for whom.
func (p *parser) option(name string) {
	if p.t.kind == tokenWord && p.t.text == name {
		p.advance()
		p.number("the number of the "+name, 0, maxTag)
	}
}

// refuseAny refuses -1.
func (p *parser) refuseAny(what string) {
	if !p.at("-") {
		return
	}
	minus := p.t
	p.advance()
	if p.t.kind == tokenNumber && p.t.number == 1 {
		p.failAt(minus.line, minus.col, "-1, %s: which message matches depends on timing, so nothing can be proved", what)
	}
	p.failAt(minus.line, minus.col, "a negative number")
}

// edge reads "requires b" or "irequires b" of a line.
func (p *parser) edge(first token) {
	starts := p.t.text == "irequires"
	p.advance()
	second := p.t
	if second.kind != tokenWord {
		p.expected("a label")
		return
	}
	p.advance()
	if p.edges++; p.edges > maxEdges {
		p.fail("more than %d dependencies", maxEdges)
	}
	a, b := p.find(p.scanner, first), p.find(p.scanner, second)
	if p.err != nil {
		return
	}
	if starts {
		p.together = append(p.together, [2]int32{a, b})
	} else {
		p.opList[a].After = append(p.opList[a].After, b)
	}
}
