package goal

import "github.com/schedgen/schedgen/internal/foreign/dag"

// operation reads an operation after its first word.
func (p *parser) operation(label, word token) {
	op := dag.Op{Name: label.text, Line: word.line}
	switch word.text {
	case "send":
		op.Kind = dag.Send
		op.Size = p.bytes()
		p.word("to")
		op.Peer = p.number("the rank to send to", 0, p.ranks-1)
		p.options(&op)
	case "recv":
		op.Kind = dag.Recv
		op.Size = p.bytes()
		p.word("from")
		p.refuseAny("from any rank")
		op.Peer = p.number("the rank to receive from", 0, p.ranks-1)
		p.options(&op)
	case "calc":
		op.Time = p.number("the time of the calculation", 0, maxTime)
		op.CPU = p.option("cpu")
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

// options reads the options of a send or receive.
func (p *parser) options(op *dag.Op) {
	if p.t.kind == tokenWord && p.t.text == "tag" {
		p.advance()
		p.refuseAny("with any tag")
		op.Tag = p.number("the tag", 0, maxTag)
	}
	op.CPU = p.option("cpu")
	op.NIC = p.option("nic")
}

// option reads the number of the CPU or interface that an operation uses, 0 if the file names none.
func (p *parser) option(name string) int32 {
	if p.t.kind != tokenWord || p.t.text != name {
		return 0
	}
	p.advance()
	return int32(p.number("the number of the "+name, 0, maxTag))
}

// refuseAny fails if the next number is negative. GOAL spells "any" as -1.
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

// edge reads the rest of a line "a requires b" or "a irequires b".
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
