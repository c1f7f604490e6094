package manpage

import (
	"fmt"
	"go/doc/comment"
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

// doc writes text in the form of Go's doc comments. Indented text stays as it is.
func (r *roff) doc(text string) {
	var parser comment.Parser
	for _, block := range parser.Parse(text).Content {
		switch b := block.(type) {
		case *comment.Code:
			r.code(b.Text)
		case *comment.Paragraph:
			r.paragraph()
			r.text(prose(flat(b.Text)))
		case *comment.Heading:
			r.paragraph()
			r.line(bold(flat(b.Text)))
		case *comment.List:
			r.list(b)
		}
	}
}

func (r *roff) code(text string) {
	r.paragraph()
	r.macro("RS", "4")
	r.macro("nf")
	for line := range strings.Lines(strings.TrimSuffix(text, "\n")) {
		r.line(literal(strings.TrimSuffix(line, "\n")))
	}
	r.macro("fi")
	r.macro("RE")
}

func (r *roff) list(l *comment.List) {
	for _, item := range l.Items {
		r.WriteString(".IP \\(bu 2\n")
		for _, block := range item.Content {
			if p, ok := block.(*comment.Paragraph); ok {
				r.text(prose(flat(p.Text)))
			}
		}
	}
}

// flat returns text without its markup, on one line.
func flat(parts []comment.Text) string {
	var b strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case comment.Plain:
			b.WriteString(string(p))
		case comment.Italic:
			b.WriteString(string(p))
		case *comment.Link:
			b.WriteString(flat(p.Text))
		case *comment.DocLink:
			b.WriteString(flat(p.Text))
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
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
