package ir

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ParseText reads the text form: the canonical spelling, and also the blanks, blank lines and
// comments that the package documentation describes. The last line feed may be missing. ParseText
// reads a stream and needs memory in proportion to the input read. The error is a [*ParseError]
// with the line and column of the first fault.
//
// [Validate] accepts every schedule that ParseText returns. Package verify checks whether the
// schedule is correct.
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
	named []counts // where each program names its numbers of signals and partial results

	// The indentation of the current line.
	lead   []byte // the blanks, at most maxQuote of them
	leadAt mark

	slots   arena[Slot]
	actions arena[Action]
	rules   arena[Rule]
	ranks   arena[int32]
	// Buffers for lists whose length is not known yet.
	slotBuf   []Slot
	actionBuf []Action
	rankBuf   []int32
	ruleBuf   []Rule
}

// counts are the places where the line of a rank names its numbers of signals and partial results.
// A zero mark means that the line does not name the number.
type counts struct{ signals, values mark }

// expect consumes lit.
func (p *textReader) expect(lit string) { p.expectAs(lit, "") }

// expectAs consumes lit. An error says that want was expected, or lit if want is empty.
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
	wantSlot     = "a slot (enter, c0 …, s0 …, v0 …)"
	wantOperand  = "an operand (x0 …, c0 …, v0 …)"
	wantMore     = "another slot, unless or ->"
	wantPut      = "another slot, or @ and a rank"
)

// startLine skips lines that hold only blanks or a comment. It then consumes the blanks before the
// first word of the next line.
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

// indented reports whether the line is indented. It fails if the indentation is not two spaces.
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

// more reports whether another word follows in the line. It consumes the space before the word.
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

// endLine consumes the end of a line, with the blanks and the comment before it. It also starts the
// next line.
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

// comment consumes a comment, but not the end of its line.
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

// param consumes a parameter. Before the first parameter it also accepts the word recovery, or the
// chunks of a barrier that multicasts.
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
	v := p.number(p.mark(), name, 0, MaxParam)
	p.s.Params = append(p.s.Params, Param{Name: name, Value: v})
}

func (p *textReader) program(rank int) {
	g := Program{Rank: rank}
	var named counts
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
	for more := p.more(); more; more = p.more() {
		if p.peek() == 'v' || named.signals != (mark{}) {
			p.expect("values=")
			named.values = p.mark()
			g.Values = p.number(named.values, "values", 0, MaxValues)
			break
		}
		p.expectAs("signals=", `"signals=" or "values="`)
		named.signals = p.mark()
		g.Signals = p.number(named.signals, "signals", 0, MaxSignals)
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
	p.named = append(p.named, named)
}

func (p *textReader) done() []Slot {
	p.slotBuf = p.slotBuf[:0]
	for p.more() {
		p.slotBuf = append(p.slotBuf, p.awaited(wantSlot))
	}
	p.endLine()
	return p.slots.copyOf(p.slotBuf)
}

func (p *textReader) rule() Rule {
	r := Rule{When: p.when()}
	if p.peek() == 'u' {
		p.expect("unless ")
		r.Unless = p.awaited(wantSlot)
		p.expectAs(" ", `" after "`)
		m := p.mark()
		switch p.peek() {
		case 'e', 'c', 's', 'v', 'x':
			p.failAt(m, `unless takes one slot, and "after" follows it`)
		}
		p.expect("after ")
		r.After = p.number(p.mark(), "after", 0, MaxAfter)
		p.expect(" ")
	}
	p.expect("->")
	p.actionBuf = p.actionBuf[:0]
	for sep := " "; p.ok(); sep = ", " {
		p.expect(sep)
		m, first := p.mark(), len(p.actionBuf)
		p.message()
		for _, a := range p.actionBuf[min(first, len(p.actionBuf)):] {
			if why := repairedFault(&r, a); p.ok() && why != "" {
				p.failAt(m, "%s", why)
			}
		}
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
		p.slotBuf = append(p.slotBuf, p.awaited(want))
		p.expect(" ")
		if c := p.peek(); c == '-' || c == 'u' {
			break
		}
	}
	return p.slots.copyOf(p.slotBuf)
}

// awaited consumes a slot for which a rule or done may wait.
func (p *textReader) awaited(want string) Slot {
	if m := p.mark(); p.peek() == 'x' {
		p.unexpected(m, want, "")
	}
	return p.slot(want)
}

// message consumes a multicast, a fold, or the puts of one message, and appends its actions.
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
	case 'f':
		p.expect("fold ")
		p.fold()
	default:
		p.unexpected(m, "an action (put, mcast or fold)", "")
	}
}

// fold consumes the slot that a fold makes, and its operands.
func (p *textReader) fold() {
	m, first := p.mark(), len(p.actionBuf)
	made := p.slot("a chunk or a partial result (c0 …, v0 …)")
	if why := madeFault(made); p.ok() && why != "" {
		p.failAt(m, "%s", why)
	}
	if p.ok() && !p.s.HasMessage() {
		p.failAt(m, "%s moves no bytes, so it folds nothing", withArticle(p.s.Collective))
	}
	p.expect(" =")
	for more := p.more(); p.ok() && (more || len(p.actionBuf) == first); more = p.more() {
		m := p.mark()
		if !more {
			p.unexpected(m, wantOperand, "")
		}
		a := Action{Op: Fold, Joins: len(p.actionBuf) > first, Slot: p.slot(wantOperand), As: made}
		if why := operandFault(a.Slot); p.ok() && why != "" {
			p.failAt(m, "%s", why)
		}
		if p.ok() && a.Slot == made {
			p.failAt(m, "%v is folded from itself", made)
		}
		p.actionBuf = append(p.actionBuf, a)
		if p.peek() == ',' {
			return
		}
	}
}

// puts consumes the slots of one message and their destination.
func (p *textReader) puts() {
	start, first := p.mark(), len(p.actionBuf)
	for want := "a slot (c0 …, s0 …, v0 …, x0 …)"; p.ok(); want = wantPut {
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
	if p.peek() == ' ' {
		p.as(p.actionBuf[first:])
	}
	for _, a := range p.actionBuf[first:] {
		if why := renamedFault(a.Slot, a.As); p.ok() && why != "" {
			p.failAt(start, "%s", why)
		}
	}
	if p.ok() {
		if _, why := messageFault(p.actionBuf[first:]); why != "" {
			p.failAt(start, "%s", why)
		}
	}
}

// as consumes the names of the slots of a message at the destination, if the text gives any.
func (p *textReader) as(message []Action) {
	if !p.more() {
		return
	}
	start := p.mark()
	p.expect("as")
	for i := range message {
		p.expectAs(" ", fmt.Sprintf("a name at the destination for each of %d slots", len(message)))
		m := p.mark()
		as := p.slot("the slot at the destination (v0 …, c0 …)")
		if p.ok() && (as != message[i].Slot || as.Kind() != KindChunk) {
			if why := renamedFault(message[i].Slot, as); why != "" {
				p.failAt(m, "%s", why)
			}
			message[i].As = as
		}
	}
	if p.ok() && !renames(message) {
		p.failAt(start, "as gives no slot another name")
	}
}

// place consumes a slot and its destination.
func (p *textReader) place() Action {
	m := p.mark()
	s := p.slot(wantSlot)
	if s == Enter {
		p.failAt(m, "enter cannot be put")
	}
	p.expect(" @")
	return PutTo(s, p.number(p.mark(), "rank", 0, p.s.Ranks-1))
}

// slot consumes a slot. It checks the range as far as that is known.
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
	case 'v':
		p.skip()
		return Value(p.number(m, "partial result", 0, MaxValues-1))
	case 'x':
		p.skip()
		n := p.s.InputChunks()
		if n == 0 {
			p.failAt(m, "no rank of %s contributes anything", withArticle(p.s.Collective))
			return None
		}
		return Input(p.number(m, "contribution", 0, n-1))
	}
	p.unexpected(m, want, "")
	return None
}

// checkEnd derives the numbers of signals and partial results that the text does not name. It then
// checks what only the whole text shows.
func (p *textReader) checkEnd() {
	if !p.ok() {
		return
	}
	signals, values := derivedCounts(&p.s)
	for rank := range p.s.Programs {
		g, named := &p.s.Programs[rank], p.named[rank]
		p.count(&g.Signals, signals[rank], named.signals, "signals")
		p.count(&g.Values, values[rank], named.values, "values")
	}
	if !p.ok() {
		return
	}
	if f := checkSlots(&p.s); f != nil {
		p.failAt(mark{line: 1}, "%s: %s", f.path(f.rank), f.msg)
	}
}

// count sets n to the number that the rules show, or checks that the number in the text is larger.
func (p *textReader) count(n *int, derived int, named mark, what string) {
	if named == (mark{}) {
		*n = derived
	} else if *n <= derived {
		p.failAt(named, "%s=%d, but the rules use %d: name a larger number, or none", what, *n, derived)
	}
}
