package ir

import (
	"slices"
	"strings"
)

// jsonRecovery writes the members of a program that schedgen/2 adds. It leaves out empty ones.
func (p printer) jsonRecovery(r *Recovery) {
	if len(r.Ask) > 0 {
		p.str(`,"ask":`)
		p.jsonRanks(r.Ask)
	}
	if r.Reports || len(r.ReportFrom) > 0 {
		p.jsonReport(r)
	}
	if len(r.Twice) > 0 {
		p.str(`,"twice":`)
		p.jsonActions(r.Twice)
	}
}

func (p printer) jsonReport(r *Recovery) {
	p.str(`,"report":{`)
	if r.Reports {
		p.member("to", int(r.ReportTo))
	}
	if r.Reports && len(r.ReportFrom) > 0 {
		p.str(",")
	}
	if len(r.ReportFrom) > 0 {
		p.str(`"from":`)
		p.jsonRanks(r.ReportFrom)
	}
	p.str("}")
}

func (p printer) jsonRanks(ranks []int32) {
	p.str("[")
	for i, rank := range ranks {
		if i > 0 {
			p.str(",")
		}
		p.num(int(rank))
	}
	p.str("]")
}

// format reads the form of the document.
func (p *jsonReader) format() {
	m := p.here()
	switch v := p.string("a string"); {
	case !p.ok():
	case !slices.Contains(formats, string(v)):
		p.failAt(m, "unknown format %s; known are %s", quote(v), strings.Join(formats, ", "))
	default:
		p.form = string(v)
		p.s.Recovers = p.s.Recovers || p.form == FormatRecovery
		for _, of := range formats {
			if field := p.early[of]; field != "" && !p.has(of) {
				p.failAt(m, "%s has no field %q, but a program has it: %s has this field", p.form, field, of)
			}
		}
	}
}

var formats = []string{Format, FormatRecovery, FormatBarrier, FormatBlocks}

// has reports whether the document's form has the fields that were new in form of.
func (p *jsonReader) has(of string) bool { return p.form == of || p.form == FormatBlocks }

// ofForm fails unless the document's form has a field that was new in form of. If the form has not
// been read yet, ofForm notes the field for format to check.
func (p *jsonReader) ofForm(field, of string) {
	switch {
	case p.form != "" && !p.has(of):
		p.failAt(p.here(), "%s has no such field: %s has it", p.form, of)
	case p.form == "" && p.early[of] == "":
		if p.early == nil {
			p.early = make(map[string]string)
		}
		p.early[of] = field
	}
}

// recovery reads a member of a program that schedgen/2 adds. The ranges are checked when the whole
// program is known.
func (p *jsonReader) recovery(g *Program, field string) {
	p.ofForm(field, FormatRecovery)
	switch field {
	case "ask":
		g.Ask = p.peerList(MaxAsk)
	case "report":
		p.object(reportFields, 0, func(i int) {
			if reportFields[i] == "from" {
				g.ReportFrom = p.peerList(p.rankBound)
			} else {
				g.Reports, g.ReportTo = true, p.peer()
			}
		})
	case "twice":
		g.Twice = p.actionList()
	}
}

// peerList reads at most most ranks.
func (p *jsonReader) peerList(most int) []int32 {
	p.peerBuf = p.peerBuf[:0]
	p.array(func(i int) {
		if i == most {
			p.failAt(p.here(), "more than %d ranks", most)
		}
		p.peerBuf = append(p.peerBuf, p.peer())
	})
	return p.peers.copyOf(p.peerBuf)
}

// peer reads the number of a rank.
func (p *jsonReader) peer() int32 { return int32(p.int(0, p.rankBound-1)) }
