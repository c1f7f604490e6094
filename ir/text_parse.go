package ir

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ParseText reads the text form: the canonical spelling, in which a line may
// also end in blanks and in a comment, from # on, and between which lines of
// blanks or comments may stand. The last line feed may be missing. It reads in a
// stream and holds memory in proportion to what it has read. The error is a
// [*ParseError] with the line and column of the first fault.
//
// What it accepts is in range ([Validate]); whether it is a correct schedule is
// for package verify to say.
func ParseText(r io.Reader) (*Schedule, error) {
	p := textReader{source: newSource(r)}
	p.startLine()
	p.header()
	for rank := 0; p.ok() && rank < p.s.Ranks; rank++ {
		p.program(rank)
	}
	p.end("the last rank")
	p.checkEnd()
	if !p.ok() {
		return nil, p.err
	}
	return &p.s, nil
}

type textReader struct {
	source
	s     Schedule
	lines []mark // where each program starts; the zero mark: it names no number of signals

	// How the line being read is indented.
	lead   []byte // the blanks, at most maxQuote of them
	leadAt mark

	slots   arena[Slot]
	actions arena[Action]
	rules   arena[Rule]
	ranks   arena[int32]
	// What is being read, before its length is known.
	slotBuf   []Slot
	actionBuf []Action
	rankBuf   []int32
	ruleBuf   []Rule
}

// expect consumes lit.
func (p *textReader) expect(lit string) { p.expectAs(lit, "") }

// expectAs consumes lit, which an error calls want if that is not empty.
func (p *textReader) expectAs(lit, want string) {
	for i := range len(lit) {
		if p.peek() != int(lit[i]) {
			m := p.mark()
			m.offset -= int64(i)
			p.unexpected(m, cmp.Or(want, strconv.Quote(lit)), lit[:i])
			return
		}
		p.skip()
	}
}

const (
	indent       = "  "
	wantIndented = "two spaces and a rule or done"
	wantSlot     = "a slot (enter, c0 …, s0 …)"
	wantMore     = "another slot, unless or ->"
	wantPut      = "another slot, or @ and a rank"
)

// startLine skips lines that hold nothing but blanks or a comment, and consumes the
// blanks before the first word of the next one.
func (p *textReader) startLine() {
	for {
		p.lead, p.leadAt = p.lead[:0], p.mark()
		for c := p.peek(); isBlank(c); c = p.peek() {
			if len(p.lead) < maxQuote {
				p.lead = append(p.lead, byte(c))
			}
			p.skip()
		}
		p.comment()
		switch p.peek() {
		case '\n':
			p.newline()
			continue
		case eof:
			p.lead = p.lead[:0]
		}
		return
	}
}

// indented reports whether the line is indented, which must be by two spaces.
func (p *textReader) indented(want string) bool {
	if len(p.lead) > 0 && string(p.lead) != indent {
		p.unexpected(p.leadAt, want, string(p.lead))
	}
	return p.ok() && len(p.lead) > 0
}

// flush fails if the line is indented.
func (p *textReader) flush(want string) {
	if len(p.lead) > 0 {
		p.unexpected(p.leadAt, want, string(p.lead))
	}
}

// more reports whether another word follows in the line, and consumes the space
// before it.
func (p *textReader) more() bool {
	if p.peek() != ' ' {
		return false
	}
	m := p.mark()
	p.skip()
	wide := false
	for ; isBlank(p.peek()); wide = true {
		p.skip()
	}
	switch p.peek() {
	case '#', '\n', eof:
		return false
	}
	if wide {
		p.failAt(m, "more than one space between words")
	}
	return p.ok()
}

// endLine consumes the end of a line, the blanks and the comment before it, and what
// of the next line startLine consumes.
func (p *textReader) endLine() {
	for isBlank(p.peek()) {
		p.skip()
	}
	p.comment()
	switch p.peek() {
	case '\n':
		p.newline()
		p.startLine()
	case eof:
		p.lead = p.lead[:0]
	default:
		p.unexpected(p.mark(), "the end of the line", "")
	}
}

// comment consumes a comment, up to the end of its line.
func (p *textReader) comment() {
	if p.peek() != '#' {
		return
	}
	for c := p.peek(); c != '\n' && c != eof; c = p.peek() {
		p.skip()
	}
}

func isBlank(c int) bool { return c == ' ' || c == '\t' || c == '\r' }

// name consumes a run of letters, digits and hyphens.
func (p *textReader) name(what string) string {
	m := p.mark()
	var b strings.Builder
	for c := p.peek(); c != eof && isNameByte(byte(c)) && b.Len() <= MaxName; c = p.peek() {
		b.WriteByte(byte(c))
		p.skip()
	}
	if !isName(b.String()) {
		p.unexpected(m, what, b.String()[:min(b.Len(), maxQuote)])
	}
	return b.String()
}

func (p *textReader) header() {
	h := &p.s.Header
	p.flush(`"schedule "`)
	p.expect("schedule ")
	m := p.mark()
	if h.Collective = p.name("a collective"); p.ok() && !isCollective(h.Collective) {
		p.failAt(m, "unknown collective %q: a schedule is called COLLECTIVE/NAME, such as bcast/mine; collectives are %s",
			h.Collective, strings.Join(collectiveNames(), ", "))
	}
	p.expect("/")
	h.Algorithm = p.name("the name of an algorithm")
	p.expect(" ranks=")
	h.Ranks = p.number(p.mark(), "ranks", 1, MaxRanks)
	if h.Rooted() {
		p.expect(" root=")
		h.Root = p.number(p.mark(), "root", 0, h.Ranks-1)
	}
	if h.HasMessage() {
		p.expect(" chunks=")
		m = p.mark()
		h.Chunks = p.number(m, "chunks", 1, MaxChunks)
		if p.ok() {
			if why := chunksFault(h); why != "" {
				p.failAt(m, "chunks %s", why)
			}
		}
	}
	for p.more() {
		p.param()
	}
	p.endLine()
}

// param consumes a parameter, or before the first the word that says that the
// schedule has recovery, or the chunks of a barrier that multicasts.
func (p *textReader) param() {
	m := p.mark()
	name := p.name("the name of a parameter")
	if name == recoveryWord && p.peek() != '=' {
		p.recovers(m)
		return
	}
	if h := &p.s.Header; name == "chunks" && !h.HasMessage() && h.Chunks == 0 && len(h.Params) == 0 {
		p.expect("=")
		h.Chunks = p.number(p.mark(), name, 1, MaxChunks)
		return
	}
	if p.ok() && !isParam(name) {
		p.failAt(m, "%s= cannot stand here", name)
	}
	if last := len(p.s.Params) - 1; last >= 0 && p.s.Params[last].Name >= name {
		p.failAt(m, "parameter %s after %s: parameters are sorted by name", name, p.s.Params[last].Name)
	}
	if len(p.s.Params) == MaxParams {
		p.failAt(m, "more than %d parameters", MaxParams)
	}
	p.expect("=")
	v := p.number(p.mark(), name, 0, MaxIndex)
	p.s.Params = append(p.s.Params, Param{Name: name, Value: v})
}

func (p *textReader) program(rank int) {
	g := Program{Rank: rank}
	var named mark
	want := fmt.Sprintf(`"rank %d"`, rank)
	p.flush(want)
	if p.peek() != 'r' {
		p.unexpected(p.mark(), want, "")
	}
	p.expect("rank ")
	m := p.mark()
	if got := p.number(m, "rank", 0, p.s.Ranks-1); p.ok() && got != rank {
		p.failAt(m, "expected rank %d, found rank %d", rank, got)
	}
	if p.more() {
		p.expect("signals=")
		named = p.mark()
		g.Signals = p.number(named, "signals", 0, MaxSignals)
	}
	p.endLine()
	p.ruleBuf = p.ruleBuf[:0]
	for p.indented(wantIndented) && p.peek() != 'd' {
		p.ruleBuf = append(p.ruleBuf, p.rule())
	}
	if len(p.lead) == 0 {
		p.unexpected(p.mark(), wantIndented, "")
	}
	p.expect("done")
	g.Rules = p.rules.copyOf(p.ruleBuf)
	g.Done = p.done()
	p.recovery(&g)
	p.s.Programs = append(p.s.Programs, g)
	p.lines = append(p.lines, named)
}

func (p *textReader) done() []Slot {
	p.slotBuf = p.slotBuf[:0]
	for p.more() {
		p.slotBuf = append(p.slotBuf, p.slot(wantSlot))
	}
	p.endLine()
	return p.slots.copyOf(p.slotBuf)
}

func (p *textReader) rule() Rule {
	r := Rule{When: p.when()}
	if p.peek() == 'u' {
		p.expect("unless ")
		r.Unless = p.slot(wantSlot)
		p.expect(" after ")
		r.After = p.number(p.mark(), "after", 0, MaxAfter)
		p.expect(" ")
	}
	p.expect("->")
	p.actionBuf = p.actionBuf[:0]
	for sep := " "; p.ok(); sep = ", " {
		p.expect(sep)
		p.message()
		if p.peek() != ',' {
			break
		}
	}
	r.Do = p.actions.copyOf(p.actionBuf)
	p.endLine()
	return r
}

func (p *textReader) when() []Slot {
	p.slotBuf = p.slotBuf[:0]
	for want := wantSlot; p.ok(); want = wantMore {
		p.slotBuf = append(p.slotBuf, p.slot(want))
		p.expect(" ")
		if c := p.peek(); c == '-' || c == 'u' {
			break
		}
	}
	return p.slots.copyOf(p.slotBuf)
}

// message consumes a multicast, or what is put in one message, and appends its actions.
func (p *textReader) message() {
	m := p.mark()
	switch p.peek() {
	case 'm':
		p.expect("mcast ")
		m = p.mark()
		a := McastOf(p.slot(wantSlot))
		if p.ok() && a.Slot.Kind() != KindChunk {
			p.failAt(m, "%s: only a chunk can be multicast", a.Slot)
		}
		p.actionBuf = append(p.actionBuf, a)
	case 'p':
		p.expect("put ")
		p.puts()
	default:
		p.unexpected(m, "an action (put or mcast)", "")
	}
}

// puts consumes the slots of one message and where they are put to.
func (p *textReader) puts() {
	start, first := p.mark(), len(p.actionBuf)
	for want := wantSlot; p.ok(); want = wantPut {
		m := p.mark()
		a := Action{Op: Put, Joins: len(p.actionBuf) > first, Slot: p.slot(want)}
		if a.Slot == Enter {
			p.failAt(m, "enter cannot be put")
		}
		p.actionBuf = append(p.actionBuf, a)
		p.expectAs(" ", `" @" or another slot`)
		if p.peek() == '@' {
			break
		}
	}
	p.expect("@")
	to := int32(p.number(p.mark(), "rank", 0, p.s.Ranks-1))
	for i := first; i < len(p.actionBuf); i++ {
		p.actionBuf[i].To = to
	}
	if p.ok() {
		if _, why := messageFault(p.actionBuf[first:]); why != "" {
			p.failAt(start, "%s", why)
		}
	}
}

// place consumes what is put and where to.
func (p *textReader) place() Action {
	m := p.mark()
	s := p.slot(wantSlot)
	if s == Enter {
		p.failAt(m, "enter cannot be put")
	}
	p.expect(" @")
	return PutTo(s, p.number(p.mark(), "rank", 0, p.s.Ranks-1))
}

// slot consumes a slot in the range that is known so far.
func (p *textReader) slot(want string) Slot {
	m := p.mark()
	switch p.peek() {
	case 'e':
		p.expect("enter")
		return Enter
	case 'c':
		p.skip()
		if p.s.Chunks == 0 {
			p.failAt(m, "this barrier has no chunks")
		}
		return Chunk(p.number(m, "chunk", 0, p.s.Chunks-1))
	case 's':
		p.skip()
		return Signal(p.number(m, "signal", 0, MaxSignals-1))
	}
	p.unexpected(m, want, "")
	return None
}

// checkEnd derives the numbers of signals that the text does not name, and
// checks what could be known only at the end.
func (p *textReader) checkEnd() {
	if !p.ok() {
		return
	}
	for rank, n := range derivedSignals(&p.s) {
		g := &p.s.Programs[rank]
		if named := p.lines[rank]; named == (mark{}) {
			g.Signals = n
		} else if g.Signals <= n {
			p.failAt(named, "signals %d where the rules speak of %d: name more than that, or none", g.Signals, n)
			return
		}
	}
	if f := checkSlots(&p.s); f != nil {
		p.failAt(mark{line: 1}, "%s: %s", f.path(f.rank), f.msg)
	}
}
