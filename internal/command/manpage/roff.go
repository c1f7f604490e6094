package manpage

import (
	"fmt"
	"strings"
)

// roff builds a document in the roff language.
type roff struct {
	strings.Builder
	fresh bool // the last line was a title, after which a paragraph needs no macro
}

// macro writes a line that is a request.
func (r *roff) macro(name string, args ...string) {
	r.WriteString("." + name)
	for _, arg := range args {
		fmt.Fprintf(r, ` "%s"`, strings.ReplaceAll(arg, `"`, `\(dq`))
	}
	r.WriteByte('\n')
	r.fresh = name == "SH" || name == "SS"
}

// paragraph begins a paragraph.
func (r *roff) paragraph() {
	if !r.fresh {
		r.macro("PP")
	}
}

// line writes a line of text whose special characters have been escaped.
func (r *roff) line(text string) {
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text // the line would otherwise be a request
	}
	r.WriteString(text + "\n")
	r.fresh = false
}

// text writes running text whose special characters have been escaped. It breaks lines as the style
// of roff recommends.
func (r *roff) text(text string) {
	const most = 72 // bytes
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > most {
			r.line(line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	r.line(line)
}

// doc writes text in the form of Go's doc comments. Indented text stays as it is, except for a list,
// whose items begin with a hyphen. The text has neither headings nor links.
func (r *roff) doc(text string) {
	var code []string
	for block := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		if strings.HasPrefix(block, " ") && !strings.HasPrefix(block, "  - ") {
			code = append(code, block)
			continue
		}
		r.code(code)
		code = nil
		switch {
		case block == "":
		case strings.HasPrefix(block, "  - "):
			for item := range strings.SplitSeq(block[len("  - "):], "\n  - ") {
				r.WriteString(".IP \\(bu 2\n")
				r.text(prose(item))
			}
		default:
			r.paragraph()
			r.text(prose(block))
		}
	}
	r.code(code)
}

// code writes blocks of indented text, with blank lines between them.
func (r *roff) code(blocks []string) {
	if len(blocks) == 0 {
		return
	}
	r.paragraph()
	r.macro("RS", "4")
	r.macro("nf")
	for line := range strings.SplitSeq(strings.Join(blocks, "\n\n"), "\n") {
		r.line(literal(strings.TrimPrefix(line, "  ")))
	}
	r.macro("fi")
	r.macro("RE")
}

func bold(text string) string   { return `\fB` + literal(text) + `\fR` }
func italic(text string) string { return `\fI` + literal(text) + `\fR` }

// prose escapes text whose quotation marks may become typographic ones.
func prose(text string) string { return escape(text, strings.NewReplacer(`\`, `\e`, "-", `\-`)) }

// literal escapes text that must be printed character by character, so that it can be copied.
func literal(text string) string {
	return escape(text, strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`))
}

// escape escapes the strings that r replaces and all characters beyond ASCII.
func escape(text string, r *strings.Replacer) string {
	var b strings.Builder
	for _, c := range r.Replace(text) {
		if c < 0x80 {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, c)
		}
	}
	return b.String()
}
