package command

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
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

// HelpWidth is the width of the tables in help texts. Kong indents them by two more columns.
const HelpWidth = 76

// Table lays out rows of a word and its meaning. The rows are indented, so that kong does not
// reflow them.
func Table(rows [][2]string) string {
	widest := 0
	for _, row := range rows {
		widest = max(widest, utf8.RuneCountInString(row[0]))
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "  %-*s  %s\n", widest, row[0], Hanging(row[1], widest+4, HelpWidth))
	}
	return b.String()
}

// Heads returns the first words of the rows.
func Heads(rows [][2]string) []string {
	var words []string
	for _, row := range rows {
		words = append(words, row[0])
	}
	return words
}

// Hanging breaks text into lines that start at column indent.
func Hanging(text string, indent, width int) string {
	var b strings.Builder
	at := indent
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}
