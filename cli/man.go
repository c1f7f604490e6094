package cli

import (
	"cmp"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/cli/internal/manpage"
	"github.com/schedgen/schedgen/internal/version"
	"github.com/schedgen/schedgen/schedule"
)

// manCmd is the verb man.
type manCmd struct{}

// Help is the long help text.
func (manCmd) Help() string {
	return `To read the page, and to install it where man finds it:

  schedgen man | man -l -
  schedgen man > ~/.local/share/man/man1/schedgen.1`
}

// Run prints the manual page.
func (manCmd) Run(app *kong.Kong, std stdio) error {
	return manpage.Write(std.Out, app.Model, manPage(buildInfo()))
}

// manPage returns the parts of the manual page that are not the help of a verb. Its date is the
// revision's date, so that the same source makes the same page.
func manPage(info *debug.BuildInfo) manpage.Page {
	date, _, _ := strings.Cut(version.Setting(info, "vcs.time"), "T")
	return manpage.Page{
		Description: description,

		Summary: "compute, prove, print and run schedules of collective communication",
		Version: "schedgen " + cmp.Or(info.Main.Version, "(devel)"),
		Date:    date,
		Sections: []manpage.Section{
			{Title: "ALGORITHMS", Text: "In message counts P is the number of ranks, F the number of chunks, and n the degree.", Rows: algorithmRows()},
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
	{Term: "1", Text: "The answer is no: a schedule does not verify, or data were wrong. Or a run has failed: a rank died, did not join, or was not done in time."},
	{Term: "2", Text: "Bad input: flags, names or files."},
	{Term: "130", Text: "Interrupted."},
}

var environmentRows = []manpage.Row{
	{Term: "NO_COLOR, TERM", Text: "No colour is used if NO_COLOR is set or TERM is dumb."},
	{Term: "COLUMNS", Text: "Width of help texts."},
	{Term: "SCHEDGEN_JOB", Text: "Name of the job for the verb rank, if --job is not given."},
	{Term: "SCHEDGEN_COORDINATOR", Text: "HOST:PORT where the ranks of the verb rank meet, if --coordinator is not given."},
	{Term: "SCHEDGEN_KEY_FILE, SCHEDGEN_ENCRYPT", Text: "File with the key of the job, if --key-file is not given, and 1 to encrypt all network traffic."},
	{Term: "SCHEDGEN_RULES", Text: "File of rules that choose algorithms, if --rules is not given."},
	{Term: "SCHEDGEN_TRANSPORT", Text: "Transport of engine go, for the verb mpi: auto, hybrid, tcp, mcast, shm or verbs."},
	{Term: "SCHEDGEN_RANK, SCHEDGEN_SIZE", Text: "Rank and number of ranks for the verb rank. They take precedence over the variables of launchers."},
}
