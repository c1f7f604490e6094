// Package manpage prints a manual page from kong's model of a command and from
// the texts of its help, so that nothing is written twice.
package manpage

import (
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Page holds the parts of a manual page that kong's model does not have.
type Page struct {
	Summary string // what the command does, in a line without a full stop
	Version string // name and version of the command, such as "schedgen v1.2.3"

	Description string // in the form of Go's doc comments, like kong's long help texts
	Date        string // year-month-day, or "" if unknown
	Sections    []Section
}

// Section is a section that follows the verbs.
type Section struct {
	Title string // in capitals
	Text  string // in the form of Page.Description
	Rows  []Row  // list of terms after the text
}

// Row is a term and its meaning.
type Row struct{ Term, Text string }

// Write prints the manual page, for section 1, in the man macros of roff.
func Write(w io.Writer, app *kong.Application, p Page) error {
	var r roff
	r.macro("TH", prose(strings.ToUpper(app.Name)), "1", p.Date, prose(p.Version), "User Commands")
	r.macro("SH", "NAME")
	r.text(prose(app.Name + " - " + p.Summary))
	r.macro("SH", "SYNOPSIS")
	r.line(bold(app.Name) + " " + italic("verb") + " [" + italic("arguments") + "] [" + italic("flags") + "]")
	r.macro("SH", "DESCRIPTION")
	r.doc(p.Description)
	r.macro("SH", "OPTIONS")
	r.line("Every verb also takes these options.")
	r.flags(app.Flags)
	r.macro("SH", "VERBS")
	for _, verb := range app.Leaves(true) {
		r.verb(verb)
	}
	for _, s := range p.Sections {
		r.section(s)
	}
	_, err := io.WriteString(w, r.String())
	return err
}

func (r *roff) verb(node *kong.Node) {
	r.macro("SS", prose(node.FullPath()))
	r.line(bold(node.FullPath()) + prose(strings.TrimPrefix(node.Summary(), node.Path())))
	r.doc(node.Help)
	r.doc(node.Detail)
	for _, arg := range node.Positional {
		r.term(italic(arg.Name), prose(arg.Help))
	}
	r.flags(node.Flags)
}

func (r *roff) flags(flags []*kong.Flag) {
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		term := bold("--" + f.Name)
		if f.Short != 0 {
			term = bold("-"+string(f.Short)) + ", " + term
		}
		if !f.IsBool() {
			term += "=" + italic(f.FormatPlaceHolder())
		}
		r.term(term, prose(f.Help))
	}
}

func (r *roff) section(s Section) {
	r.macro("SH", prose(s.Title))
	r.doc(s.Text)
	for _, row := range s.Rows {
		r.term(bold(row.Term), prose(row.Text))
	}
}

// term writes a term and, indented below it, its meaning.
func (r *roff) term(term, text string) {
	r.macro("TP")
	r.line(term)
	r.text(text)
}
