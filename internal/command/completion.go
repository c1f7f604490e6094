package command

import (
	"maps"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/internal/command/complete"
	"github.com/schedgen/schedgen/internal/terminal"
)

// completionCmd is the verb completion.
type completionCmd struct {
	Shell string `arg:"" enum:"${shells}" help:"One of ${shells}."`
}

// Help is the long help text.
func (completionCmd) Help() string {
	return complete.Help("${program}")
}

// Run prints the script.
func (c *completionCmd) Run(p *Program, std terminal.Stdio) error {
	return complete.WriteScript(std.Out, c.Shell, p.Name)
}

// completeCmd is the hidden verb that the completion scripts call. Its arguments are the words
// after the program up to the cursor ([complete.Print]).
type completeCmd struct {
	Words []string `arg:"" optional:""`
}

// Run prints the words that may follow.
func (c *completeCmd) Run(app *kong.Kong, p *Program, std terminal.Stdio) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	return complete.Print(std.Out, complete.Next(Syntax(app.Model), words, p.sources()))
}

// sources returns the possible values of flags and arguments, by the value of their tag complete.
func (p *Program) sources() map[string]complete.Source {
	all := maps.Clone(p.Sources)
	if all == nil {
		all = make(map[string]complete.Source)
	}
	all["verb"] = complete.Below
	return all
}
