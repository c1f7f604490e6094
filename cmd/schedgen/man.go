package main

import (
	"cmp"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/cmd/schedgen/internal/manpage"
	"github.com/schedgen/schedgen/schedule"
)

// manCmd is the verb man.
type manCmd struct{}

// Help is the long help text.
func (manCmd) Help() string {
	return `To read it, and to have man find it:

  schedgen man | man -l -
  schedgen man > ~/.local/share/man/man1/schedgen.1`
}

// Run prints the manual page.
func (manCmd) Run(app *kong.Kong, std stdio) error {
	return manpage.Write(std.Out, app.Model, manPage(buildInfo()))
}

// manPage is what the manual page says beside what the verbs' help says. Its
// date is that of the revision, so that the same source makes the same page.
func manPage(info *debug.BuildInfo) manpage.Page {
	date, _, _ := strings.Cut(setting(info, "vcs.time"), "T")
	return manpage.Page{
		Description: description,

		Summary: "compute, prove, print and run schedules of collective communication",
		Version: "schedgen " + cmp.Or(info.Main.Version, "(devel)"),
		Date:    date,
		Sections: []manpage.Section{
			{Title: "ALGORITHMS", Text: "In messages P is the number of ranks, F that of chunks, n the degree.", Rows: algorithmRows()},
			{Title: "EXIT STATUS", Rows: exitRows},
			{Title: "ENVIRONMENT", Rows: environmentRows},
			{Title: "PAPERS", Rows: paperRows()},
		},
	}
}

func algorithmRows() []manpage.Row {
	var rows []manpage.Row
	for _, a := range schedule.Algorithms() {
		text := a.Summary + ". Parameters: " + strings.Join(a.Params, ", ") + ". Messages: " + a.Messages + ". Paper: " + a.Paper + "."
		rows = append(rows, manpage.Row{Term: a.Name, Text: text})
	}
	return rows
}

func paperRows() []manpage.Row {
	var rows []manpage.Row
	for _, p := range schedule.Papers() {
		rows = append(rows, manpage.Row{Term: p.Number, Text: p.Authors + ": " + p.Title + "."})
	}
	return rows
}

var exitRows = []manpage.Row{
	{Term: "0", Text: "All is well."},
	{Term: "1", Text: "The answer is no: a schedule does not hold, or data were wrong. Or a run has failed: a rank died, did not come, or was not done in time."},
	{Term: "2", Text: "Bad input: flags, names or files."},
	{Term: "130", Text: "Interrupted."},
}

var environmentRows = []manpage.Row{
	{Term: "NO_COLOR, TERM", Text: "There is no colour if NO_COLOR is set or TERM is dumb."},
	{Term: "COLUMNS", Text: "Width of help texts."},
	{Term: "SCHEDGEN_JOB", Text: "Name of the job for the verb rank, if --job is not given."},
	{Term: "SCHEDGEN_COORDINATOR", Text: "Where the ranks of the verb rank meet, HOST:PORT, if --coordinator is not given."},
	{Term: "SCHEDGEN_RANK, SCHEDGEN_SIZE", Text: "Rank and number of ranks for the verb rank, before those of launchers."},
}
