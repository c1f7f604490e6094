package cli

import (
	"strings"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/command/manpage"
	"github.com/schedgen/schedgen/schedule"
)

// sections returns the sections of the manual page that follow the verbs.
func sections() []manpage.Section {
	return []manpage.Section{
		{Title: "ALGORITHMS", Text: "In message counts P is the number of ranks, F the number of chunks, and n the degree.", Rows: algorithmRows()},
		command.ExitStatus,
		{Title: "ENVIRONMENT", Rows: environmentRows},
		{Title: "PAPERS", Rows: paperRows()},
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

var environmentRows = []manpage.Row{
	{Term: "NO_COLOR, TERM", Text: "No colour is used if NO_COLOR is set or TERM is dumb."},
	{Term: "COLUMNS", Text: "Width of help texts."},
	{Term: "SCHEDGEN_JOB", Text: "Name of the job for the verb rank, if --job is not given."},
	{Term: "SCHEDGEN_COORDINATOR", Text: "HOST:PORT where the ranks of the verb rank meet, if --coordinator is not given."},
	{Term: "SCHEDGEN_KEY_FILE, SCHEDGEN_ENCRYPT", Text: "File with the key of the job, if --key-file is not given, and 1 to encrypt all network traffic."},
	{Term: "SCHEDGEN_RULES", Text: "File of rules that choose algorithms, if --rules is not given."},
	{Term: "SCHEDGEN_LEARN", Text: "File for rules that programs learn while they run; --learn in schedgen run."},
	{Term: "SCHEDGEN_TRANSPORT", Text: "Transport of engine go, for the verb mpi: auto, hybrid, tcp, mcast, shm or verbs."},
	{Term: "SCHEDGEN_RANK, SCHEDGEN_SIZE", Text: "Rank and number of ranks for the verb rank. They take precedence over the variables of launchers."},
}
