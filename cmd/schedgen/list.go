package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/schedgen/schedgen/schedule"
)

// listCmd is the verb list.
type listCmd struct {
	JSON bool `name:"json" help:"Print an array of objects."`
}

// Help is the long help text.
func (listCmd) Help() string {
	return `P is the number of ranks, F the number of chunks.

Example: schedgen list`
}

// listed is an algorithm as --json prints it.
type listed struct {
	Name       string   `json:"name"`
	Collective string   `json:"collective"`
	Params     []string `json:"params"`
	Paper      string   `json:"paper"`
	Messages   string   `json:"messages"`
	Summary    string   `json:"summary"`
}

// Run prints all algorithms.
func (c *listCmd) Run(std stdio) error {
	if c.JSON {
		return c.printJSON(std)
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ALGORITHM\tPARAMETERS\tPAPER\tMESSAGES")
	for _, a := range schedule.Algorithms() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", a.Name, strings.Join(a.Params, " "), a.Paper, a.Messages)
	}
	return w.Flush()
}

func (c *listCmd) printJSON(std stdio) error {
	var out []listed
	for _, a := range schedule.Algorithms() {
		out = append(out, listed{a.Name, a.Collective, a.Params, a.Paper, a.Messages, a.Summary})
	}
	return writeJSON(std.Out, out, "  ")
}
