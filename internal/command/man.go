package command

import (
	"cmp"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/internal/command/manpage"
	"github.com/schedgen/schedgen/internal/version"
)

// manCmd is the verb man.
type manCmd struct{}

// Help is the long help text.
func (manCmd) Help() string {
	return `To read the page, and to install it where man finds it:

  ${program} man | man -l -
  ${program} man > ~/.local/share/man/man1/${program}.1`
}

// Run prints the manual page.
func (manCmd) Run(app *kong.Kong, p *Program, std Stdio) error {
	return manpage.Write(std.Out, app.Model, p.ManPage(BuildInfo()))
}

// ManPage returns the parts of the manual page that are not the help of a verb. Its date is the
// revision's date, so that the same source makes the same page.
func (p *Program) ManPage(info *debug.BuildInfo) manpage.Page {
	date, _, _ := strings.Cut(version.Setting(info, "vcs.time"), "T")
	page := manpage.Page{
		Description: p.Description,

		Summary: p.Summary,
		Version: "schedgen " + cmp.Or(info.Main.Version, "(devel)"),
		Date:    date,
	}
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
