package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/schedule"
)

// listCmd is the verb list.
type listCmd struct {
	JSON bool `name:"json" help:"Print an array of objects."`
}

// Help is the long help text.
func (listCmd) Help() string {
	return `In message counts P is the number of ranks, F the number of chunks, and n the degree.

Example:

  schedgen list --json`
}

// listed is an algorithm as --json prints it.
type listed struct {
	Name       string   `json:"name"`
	Collective string   `json:"collective"`
	Params     []string `json:"params"`
	Paper      string   `json:"paper"`
	Papers     []paper  `json:"papers"`
	Messages   string   `json:"messages"`
	Summary    string   `json:"summary"`
}

// paper is a paper that listed.Paper names by its number.
type paper struct {
	Number  string `json:"number"`
	Authors string `json:"authors"`
	Title   string `json:"title"`
}

// Run prints all algorithms, and below them the papers that the table names by numbers.
func (c *listCmd) Run(std terminal.Stdio) error {
	if c.JSON {
		return c.printJSON(std)
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ALGORITHM\tPARAMETERS\tPAPER\tMESSAGES")
	for _, a := range schedule.Algorithms() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", a.Name, strings.Join(a.Params, " "), a.Paper, a.Messages)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return printLegend(std.Out)
}

// printLegend explains the columns MESSAGES and PAPER of the table.
func printLegend(w io.Writer) error {
	var b strings.Builder
	b.WriteString("\nMESSAGES\nP is the number of ranks, F the number of chunks, n the degree\n\nPAPER\n")
	for _, p := range schedule.Papers() {
		fmt.Fprintf(&b, "%s  %s:\n     %s\n", p.Number, p.Authors, terminal.Hanging(p.Title, 5, terminal.HelpWidth))
	}
	b.WriteString("ours  from no paper\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *listCmd) printJSON(std terminal.Stdio) error {
	var out []listed
	for _, a := range schedule.Algorithms() {
		papers := []paper{} // not null in JSON
		for _, p := range a.Papers() {
			papers = append(papers, paper(p))
		}
		out = append(out, listed{a.Name, a.Collective, a.Params, a.Paper, papers, a.Messages, a.Summary})
	}
	return terminal.WriteJSON(std.Out, out, "  ")
}
