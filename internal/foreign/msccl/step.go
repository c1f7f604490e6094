package msccl

import "github.com/schedgen/schedgen/internal/foreign/dag"

// form describes a type of step.
type form struct {
	reads, writes bool // whether it reads the source and writes the destination
	recv, send    bool
	mix           bool // it folds
}

// types are the types of steps: nop does nothing, cpy copies, and re reduces. In the other names, a
// first r is receive, further r's are reduce, c is copy, and a last s is send.
var types = []string{"nop", "s", "r", "rcs", "rrs", "rrc", "rrcs", "cpy", "re"}

var forms = map[string]form{
	"nop":  {},
	"s":    {reads: true, send: true},
	"r":    {recv: true, writes: true},
	"rcs":  {recv: true, writes: true, send: true},
	"rrs":  {reads: true, recv: true, send: true, mix: true},
	"rrc":  {reads: true, recv: true, writes: true, mix: true},
	"rrcs": {reads: true, recv: true, writes: true, send: true, mix: true},
	"cpy":  {reads: true, writes: true},
	"re":   {reads: true, writes: true, mix: true},
}

// ops returns the operations of a step: a local operation or a receive, then a send.
func (f form) ops(g *gpu, a attributes, b *block, count int) []dag.Op {
	var src, dst dag.Span
	if f.reads {
		src = g.span(a, "src", count)
	}
	if f.writes {
		dst = g.span(a, "dst", count)
	}
	send := dag.Op{Kind: dag.Send, Peer: b.send, Tag: b.channel, Size: count}
	recv := dag.Op{Kind: dag.Recv, Peer: b.recv, Tag: b.channel, Size: count, Move: dag.Move{Read: src, Write: dst, Mix: f.mix}}
	if f.send && b.send < 0 || f.recv && b.recv < 0 {
		g.fail("<step>: type %s in a block without that peer", a.value["type"])
	}
	switch {
	case f.recv && f.send && f.writes:
		send.Read = dst
		return []dag.Op{recv, send}
	case f.recv && f.send:
		send.Mix = true
		return []dag.Op{recv, send}
	case f.recv:
		return []dag.Op{recv}
	case f.send:
		send.Read = src
		return []dag.Op{send}
	}
	return []dag.Op{{Move: dag.Move{Read: src, Write: dst, Mix: f.mix}}}
}

// span returns the cells that a step names.
func (g *gpu) span(a attributes, side string, count int) dag.Span {
	buffer := a.word(side+"buf", "i", "o", "s")
	off := a.int(side+"off", 0, maxChunks)
	room := map[string]int{"i": g.in, "o": g.out, "s": g.scratch}[buffer]
	if g.err == nil && off+count > room {
		g.fail("<step>: %s[%d … %d] of gpu %d, whose buffer %s has %d chunks", buffer, off, off+count-1, g.id, buffer, room)
	}
	if g.err == nil && count == 0 {
		g.fail("<step>: cnt=0 in a step of type %s", a.value["type"])
	}
	return dag.Span{From: g.base(buffer) + off, Len: count}
}
