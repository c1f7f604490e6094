package cli

import (
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/cli/internal/complete"
	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// completionCmd is the verb completion.
type completionCmd struct {
	Shell string `arg:"" enum:"${shells}" help:"One of ${shells}."`
}

// Help is the long help text.
func (completionCmd) Help() string {
	return `The script asks schedgen itself how a command line may continue, so a new version of schedgen
needs no new script. To install it for all your shells, run once:

  schedgen completion bash \
    > ~/.local/share/bash-completion/completions/schedgen
  schedgen completion fish > ~/.config/fish/completions/schedgen.fish

For zsh, write it to a directory of $fpath, before compinit is called:

  schedgen completion zsh > ~/.zfunc/_schedgen

To use it in the running shell, bash or zsh: eval "$(schedgen completion bash)".`
}

// Run prints the script.
func (c *completionCmd) Run(std stdio) error {
	script, err := complete.Script(c.Shell)
	if err != nil {
		return err
	}
	_, err = io.WriteString(std.Out, script)
	return err
}

// completeCmd is the hidden verb that the completion scripts call. Its arguments are the words
// after schedgen up to the cursor. It prints a line for each word that may stand at the cursor: the
// word, a tab and its meaning. A line :files or :directories says that these may stand there, too.
type completeCmd struct {
	Words []string `arg:"" optional:""`
}

// Run prints the words that may follow.
func (c *completeCmd) Run(app *kong.Kong, std stdio) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	answer := complete.Next(app.Model, words, completions)
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

// completions are the possible values of flags and arguments, by the value of their tag complete.
var completions = map[string]complete.Source{
	"algorithm": algorithmWords,
	"format":    formatWords,
	"check":     checkWords,
	"transport": func(complete.Place) []complete.Word { return tableWords(transportHelp) },
	"delay":     func(complete.Place) []complete.Word { return plainWords(delays...) },
	"figure":    figureWords,
	"claim":     func(complete.Place) []complete.Word { return plainWords(verify.Claims()...) },
	"network": func(complete.Place) []complete.Word {
		return plainWords(append(strings.Split(networkKinds(), ", "), "order")...)
	},
	"tuned":     func(complete.Place) []complete.Word { return plainWords(tunable()...) },
	"loss":      func(complete.Place) []complete.Word { return plainWords("none", "all") },
	"interface": interfaceWords,
	"manager":   managerWords,
	"verb":      verbWords,
}

func plainWords(texts ...string) []complete.Word {
	var words []complete.Word
	for _, text := range texts {
		words = append(words, complete.Word{Text: text})
	}
	return words
}

func tableWords(rows [][2]string) []complete.Word {
	var words []complete.Word
	for _, row := range rows {
		words = append(words, complete.Word{Text: row[0], Help: row[1]})
	}
	return words
}

// algorithmWords returns the algorithms of the collective that the verb or its operation names, or
// all algorithms if neither names one.
func algorithmWords(at complete.Place) []complete.Word {
	collective := at.Verb.Name
	if collective == "bench" && len(at.Args) > 0 {
		collective = operationNamed(at.Args[0]).collective
	}
	var all, those []complete.Word
	for _, a := range schedule.Algorithms() {
		word := complete.Word{Text: a.Name, Help: a.Summary}
		all = append(all, word)
		if a.Collective == collective {
			those = append(those, word)
		}
	}
	if len(those) > 0 {
		return those
	}
	return all
}

func formatWords(complete.Place) []complete.Word {
	var words []complete.Word
	for _, f := range emit.Formats() {
		words = append(words, complete.Word{Text: f.Name, Help: f.Summary})
	}
	return words
}

func checkWords(complete.Place) []complete.Word {
	var words []complete.Word
	for _, c := range verify.Checks() {
		words = append(words, complete.Word{Text: c.Name, Help: c.Summary})
	}
	return words
}

func interfaceWords(complete.Place) []complete.Word {
	all, err := net.Interfaces()
	if err != nil {
		return nil // a shell cannot show the error
	}
	var words []complete.Word
	for _, i := range all {
		words = append(words, complete.Word{Text: i.Name})
	}
	return words
}

// managerWords returns the beginnings of the values of --manager.
func managerWords(complete.Place) []complete.Word {
	words := tableWords(managerHelp)
	for i := range words {
		kind, _, _ := strings.Cut(words[i].Text, "://")
		words[i].Text = kind + "://"
	}
	return words
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
