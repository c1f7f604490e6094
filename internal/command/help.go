package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/internal/words"
)

// expertTag is the key of the field tag of flags for experts, which --help leaves out.
const expertTag = "expert"

// helpStyle tells which flags help texts show.
type helpStyle struct{ all bool }

// print prints a help text, as kong does. If it leaves out flags for experts, the last line tells
// how many.
func (s *helpStyle) print(options kong.HelpOptions, ctx *kong.Context) error {
	node := ctx.Selected()
	if node == nil || s.all || options.Summary {
		return kong.DefaultHelpPrinter(options, ctx)
	}
	var hidden []*kong.Flag
	for _, flag := range node.Flags {
		if flag.Tag.Has(expertTag) && !flag.Hidden {
			flag.Hidden = true
			hidden = append(hidden, flag)
		}
	}
	err := kong.DefaultHelpPrinter(options, ctx)
	for _, flag := range hidden {
		flag.Hidden = false
	}
	if err == nil && len(hidden) > 0 {
		_, err = fmt.Fprintf(ctx.Stdout, "\n%s for experts: %s --help-all\n", Count(len(hidden), "more flag"), node.FullPath())
	}
	return err
}

// helpAllFlag is the flag --help-all.
type helpAllFlag bool

// IgnoreDefault keeps kong from calling the hook for a default value.
func (helpAllFlag) IgnoreDefault() {}

// BeforeReset prints the help with all flags, and ends the command.
func (helpAllFlag) BeforeReset(ctx *kong.Context, style *helpStyle) error {
	style.all = true
	if err := ctx.PrintUsage(false); err != nil {
		return err
	}
	ctx.Exit(0)
	return nil
}

// helpCmd is the verb help: "help VERB" prints what "VERB --help" prints.
type helpCmd struct {
	All  bool     `help:"Also show the flags for experts."`
	Verb []string `arg:"" optional:"" complete:"verb" help:"Verb whose help is shown; default: all verbs."`
}

// Help is the long help text.
func (helpCmd) Help() string {
	return `Prints the same as the verb's flag --help.

Example:

  ${program} help ${example}`
}

// Run prints the help of the verb.
func (c *helpCmd) Run(app *kong.Kong, style *helpStyle) error {
	style.all = c.All
	ctx, err := kong.Trace(app, c.Verb)
	if err != nil {
		return err
	}
	node := ctx.Selected()
	if node == nil {
		node = app.Model.Node
	}
	if named := strings.TrimSpace(strings.TrimPrefix(node.FullPath(), app.Model.Name)); named != strings.Join(c.Verb, " ") {
		return errors.New(unknownVerb(node, strings.TrimSpace(strings.TrimPrefix(strings.Join(c.Verb, " "), named))))
	}
	return ctx.PrintUsage(false)
}

// Count spells a number of things, such as "1 rank" or "2 ranks".
func Count(n int, thing string) string { return words.Count(int64(n), thing, thing+"s") }

// Heads returns the first words of the rows.
func Heads(rows [][2]string) []string {
	var heads []string
	for _, row := range rows {
		heads = append(heads, row[0])
	}
	return heads
}
