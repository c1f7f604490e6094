// Package manpage prints a manual page from the syntax of a command and from the texts of its help,
// so that nothing is written twice.
package manpage

import (
	"cmp"
	"io"
	"runtime/debug"
	"strings"

	"github.com/schedgen/schedgen/internal/command/syntax"
	"github.com/schedgen/schedgen/internal/version"
)

// Page holds the parts of a manual page that the syntax does not have.
type Page struct {
	Summary     string           // what the command does, in a line without a full stop
	Description string           // in the form of Go's doc comments, like the long help texts
	Build       *debug.BuildInfo // has the version and the date
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

// Help returns the long help text of the verb that prints the manual page of a program.
func Help(program string) string {
	return strings.ReplaceAll(`To read the page, and to install it where man finds it:

  ${program} man | man -l -
  ${program} man > ~/.local/share/man/man1/${program}.1`, "${program}", program)
}

// Write prints the manual page, for section 1, in the man macros of roff. Its date is that of the
// revision, so that the same source makes the same page.
func Write(w io.Writer, app *syntax.Verb, p Page) error {
	var r roff
	date, _, _ := strings.Cut(version.Setting(p.Build, "vcs.time"), "T")
	r.macro("TH", prose(strings.ToUpper(app.Name)), "1", date, prose(app.Name+" "+cmp.Or(p.Build.Main.Version, "(devel)")), "User Commands")
	r.macro("SH", "NAME")
	r.text(prose(app.Name + " - " + p.Summary))
	r.macro("SH", "SYNOPSIS")
	if app.Arguments == "" {
		r.line(bold(app.Name) + " " + italic("verb") + " [" + italic("arguments") + "] [" + italic("flags") + "]")
	} else {
		r.line(bold(app.Name) + prose(app.Arguments))
	}
	r.macro("SH", "DESCRIPTION")
	r.doc(p.Description)
	r.values(app.Args)
	r.macro("SH", "OPTIONS")
	if app.Arguments == "" {
		r.line("Every verb also takes these options.")
	}
	r.flags(app.Flags)
	r.macro("SH", "VERBS")
	for _, verb := range app.Leaves() {
		if verb != app {
			r.verb(verb)
		}
	}
	for _, s := range p.Sections {
		r.section(s)
	}
	_, err := io.WriteString(w, r.String())
	return err
}

func (r *roff) verb(v *syntax.Verb) {
	r.macro("SS", prose(v.Path()))
	r.line(bold(v.Path()) + prose(v.Arguments))
	r.doc(v.Help)
	r.doc(v.Detail)
	r.values(v.Args)
	r.flags(v.Flags)
}

func (r *roff) values(args []*syntax.Value) {
	for _, arg := range args {
		r.term(italic(arg.Name), prose(arg.Help))
	}
}

func (r *roff) flags(flags []*syntax.Value) {
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		term := bold("--" + f.Name)
		if f.Short != 0 {
			term = bold("-"+string(f.Short)) + ", " + term
		}
		if !f.Bool {
			term += "=" + italic(f.Placeholder)
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
