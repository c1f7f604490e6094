package command

import (
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/internal/command/complete"
)

// completionCmd is the verb completion.
type completionCmd struct {
	Shell string `arg:"" enum:"${shells}" help:"One of ${shells}."`
}

// Help is the long help text.
func (completionCmd) Help() string {
	return `The script asks ${program} itself how a command line may continue, so a new version needs no new
script. To install it for all your shells, run once:

  ${program} completion bash \
    > ~/.local/share/bash-completion/completions/${program}
  ${program} completion fish > ~/.config/fish/completions/${program}.fish

For zsh, write it to a directory of $fpath, before compinit is called:

  ${program} completion zsh > ~/.zfunc/_${program}

To use it in the running shell, bash or zsh: eval "$(${program} completion bash)".`
}

// Run prints the script.
func (c *completionCmd) Run(p *Program, std Stdio) error {
	script, err := complete.Script(c.Shell, p.Name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(std.Out, script)
	return err
}

// completeCmd is the hidden verb that the completion scripts call. Its arguments are the words
// after the program up to the cursor. It prints a line for each word that may stand at the cursor: the
// word, a tab and its meaning. A line :files or :directories says that these may stand there, too.
type completeCmd struct {
	Words []string `arg:"" optional:""`
}

// Run prints the words that may follow.
func (c *completeCmd) Run(app *kong.Kong, p *Program, std Stdio) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	answer := complete.Next(app.Model, words, p.sources())
	var b strings.Builder
	for _, w := range answer.Words {
		fmt.Fprintf(&b, "%s\t%s\n", w.Text, w.Help)
	}
	if answer.Files {
		b.WriteString(":files\n")
	}
	if answer.Directories {
		b.WriteString(":directories\n")
	}
	_, err := io.WriteString(std.Out, b.String())
	return err
}

// sources returns the possible values of flags and arguments, by the value of their tag complete.
func (p *Program) sources() map[string]complete.Source {
	all := maps.Clone(p.Sources)
	if all == nil {
		all = make(map[string]complete.Source)
	}
	all["verb"] = verbWords
	return all
}

// verbWords returns the verbs below the named ones.
func verbWords(at complete.Place) []complete.Word {
	node := at.App
	for _, name := range at.Args {
		if node = below(node, name); node == nil {
			return nil
		}
	}
	return complete.Verbs(node)
}

func below(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}
