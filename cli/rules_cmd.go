package cli

import (
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/schedule/selection"
)

// rulesCmd is the verb rules.
type rulesCmd struct {
	File   string `arg:"" complete:"file" help:"File of rules, - for standard input, or built-in."`
	Output string `short:"o" placeholder:"FILE" complete:"file" help:"Write to FILE; default standard output."`
}

// Help is the long help text.
func (rulesCmd) Help() string {
	return `Reads rules, checks them and prints them in canonical form, one rule a line. The file may hold
schedgen's rules, or those of Open MPI's component tuned: JSON with rule_file_version 3, or the
classic form of numbers. A rule for an algorithm of Open MPI that schedgen does not have leaves its
cases to the built-in rules. A rule for an unknown algorithm, of a newer Open MPI, is dropped. For
each such rule a line is printed to standard error.

Examples:

  schedgen rules built-in
  schedgen rules tuned.conf -o rules.json`
}

// Run prints the rules.
func (c *rulesCmd) Run(std terminal.Stdio) error {
	rules, notes, err := anyRules(c.File, std)
	if err != nil {
		return err
	}
	for _, n := range notes {
		if _, err := fmt.Fprintf(std.Err, "%s:%d: %s\n", c.File, n.Line, n.Msg); err != nil {
			return err
		}
	}
	write := func(w io.Writer) error {
		_, err := w.Write(rules.Text())
		return err
	}
	if c.Output != "" {
		return terminal.WriteTo("output", c.Output, std.Out, write)
	}
	return write(std.Out)
}

// anyRules returns the rules of a file in any form that schedgen can read, and notes about rules
// that it could not take over.
func anyRules(name string, std terminal.Stdio) (*selection.Rules, []selection.Note, error) {
	if name == selection.BuiltIn {
		return selection.Builtin(), nil, nil
	}
	var data []byte
	var err error
	if name == "-" {
		data, err = io.ReadAll(io.LimitReader(std.In, selection.MaxFile+1))
	} else {
		data, err = readBounded(name)
	}
	if err != nil {
		return nil, nil, err
	}
	rules, notes, err := selection.Import(data)
	if err != nil {
		return nil, nil, inFile(name, err)
	}
	return rules, notes, nil
}
