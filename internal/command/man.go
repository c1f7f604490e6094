package command

import (
	"runtime/debug"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/internal/command/manpage"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/version"
)

// manCmd is the verb man.
type manCmd struct{}

// Help is the long help text.
func (manCmd) Help() string {
	return manpage.Help("${program}")
}

// Run prints the manual page.
func (manCmd) Run(app *kong.Kong, p *Program, std terminal.Stdio) error {
	return manpage.Write(std.Out, Syntax(app.Model), p.ManPage(version.Build()))
}

// ManPage returns the parts of the manual page that are not the help of a verb.
func (p *Program) ManPage(info *debug.BuildInfo) manpage.Page {
	page := manpage.Page{Description: p.Description, Summary: p.Summary, Build: info}
	if p.Sections != nil {
		page.Sections = p.Sections()
	}
	return page
}

// ExitStatus is the section of a manual page about exit codes.
var ExitStatus = manpage.Section{Title: "EXIT STATUS", Rows: []manpage.Row{
	{Term: "0", Text: "All is well."},
	{Term: "1", Text: "The answer is no: a schedule does not verify, or data were wrong. Or a run has failed: a rank died, did not join, or was not done in time."},
	{Term: "2", Text: "Bad input: flags, names or files."},
	{Term: "130", Text: "Interrupted."},
}}
