package ir

import (
	"cmp"
	"strings"
)

// recoveryWord stands in the first line of a schedule that has recovery.
const recoveryWord = "recovery"

// textRecovery writes the lines that follow done.
func (p printer) textRecovery(r *Recovery) {
	if len(r.Ask) > 0 {
		p.str("  ask")
		p.textRanks(r.Ask)
		p.str("\n")
	}
	if r.Reports || len(r.ReportFrom) > 0 {
		p.textReport(r)
	}
	if len(r.Twice) > 0 {
		p.textTwice(r.Twice)
	}
}

func (p printer) textTwice(twice []Action) {
	p.str("  twice ")
	for i, a := range twice {
		if i > 0 {
			p.str(", ")
		}
		p.textPlace(a)
	}
	p.str("\n")
}

func (p printer) textReport(r *Recovery) {
	p.str("  report")
	if r.Reports {
		p.str(" ")
		p.num(int(r.ReportTo))
	}
	if len(r.ReportFrom) > 0 {
		p.str(" from")
		p.textRanks(r.ReportFrom)
	}
	p.str("\n")
}

func (p printer) textRanks(ranks []int32) {
	for _, rank := range ranks {
		p.str(" ")
		p.num(int(rank))
	}
}

// recovers handles the word recovery, found at m.
func (p *textReader) recovers(m mark) {
	switch h := &p.s.Header; {
	case !h.HasMessage():
		p.failAt(m, "a barrier has no recovery: its rules repair what it multicasts")
	case h.Recovers:
		p.failAt(m, "%s twice", recoveryWord)
	case len(h.Params) > 0:
		p.failAt(m, "%s comes before the parameters", recoveryWord)
	default:
		h.Recovers = true
	}
}

// recovery consumes the lines of a program that follow done.
func (p *textReader) recovery(g *Program) {
	words := []string{"ask", "report", "twice"}
	for p.indented(cmp.Or(strings.Join(words, " or "), "the next rank")) {
		m := p.mark()
		i := p.word(words)
		switch {
		case !p.ok():
			return
		case !p.s.Recovers:
			p.failAt(m, "the schedule has no recovery: its first line does not say so")
		}
		switch words[i] {
		case "ask":
			g.Ask = p.rankList(func(ask []int32) string { return askFault(&p.s.Header, g.Rank, ask) })
		case "report":
			p.report(g)
		case "twice":
			g.Twice = p.twice(g.Rank)
		}
		p.endLine()
		words = words[i+1:]
	}
}

// word consumes one of words and returns its index. The words differ in their first letters.
func (p *textReader) word(words []string) int {
	for i, w := range words {
		if p.peek() == int(w[0]) {
			p.expect(w)
			return i
		}
	}
	p.unexpected(p.mark(), cmp.Or(strings.Join(words, " or "), "the next rank"), "")
	return 0
}

// rankList consumes one or more ranks. fault returns the reason why the last rank cannot follow the
// others, or "".
func (p *textReader) rankList(fault func([]int32) string) []int32 {
	p.rankBuf = p.rankBuf[:0]
	p.expectAs(" ", "a rank")
	for next := true; p.ok() && next; next = p.more() {
		m := p.mark()
		p.rankBuf = append(p.rankBuf, int32(p.number(m, "rank", 0, p.s.Ranks-1)))
		if why := fault(p.rankBuf); p.ok() && why != "" {
			p.failAt(m, "%s", why)
		}
	}
	return p.ranks.copyOf(p.rankBuf)
}

func (p *textReader) report(g *Program) {
	p.expectAs(" ", "a rank or from")
	m := p.mark()
	if p.peek() != 'f' {
		g.Reports, g.ReportTo = true, int32(p.number(m, "rank", 0, p.s.Ranks-1))
		if why := peerFault(&p.s.Header, g.Rank, g.ReportTo, "reports to"); p.ok() && why != "" {
			p.failAt(m, "%s", why)
		}
		if !p.more() {
			return
		}
	}
	p.expect("from")
	g.ReportFrom = p.rankList(func(from []int32) string { return reporterFault(&p.s.Header, g.Rank, from) })
}

func (p *textReader) twice(rank int) []Action {
	p.actionBuf = p.actionBuf[:0]
	for sep := " "; p.ok(); sep = ", " {
		p.expect(sep)
		m := p.mark()
		p.actionBuf = append(p.actionBuf, p.place())
		if why := twiceFault(&p.s.Header, rank, p.actionBuf); p.ok() && why != "" {
			p.failAt(m, "%s", why)
		}
		if p.peek() != ',' {
			break
		}
	}
	return p.actions.copyOf(p.actionBuf)
}
