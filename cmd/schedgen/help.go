package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// helpCmd is the verb help: what --help says, for those who put it in front.
type helpCmd struct {
	Verb []string `arg:"" optional:"" complete:"verb" help:"Verb to tell about; without one: all verbs."`
}

// Help is the long help text.
func (helpCmd) Help() string {
	return `Says the same as --help behind the verb.

Example:

  schedgen help run bcast`
}

// Run prints the help of the verb.
func (c *helpCmd) Run(app *kong.Kong) error {
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

// helpWidth is the width of what the help texts lay out themselves; kong
// indents it by two more.
const helpWidth = 76

// table lays out rows of a word and what it means, indented as text that is
// not to be reflowed.
func table(rows [][2]string) string {
	widest := 0
	for _, row := range rows {
		widest = max(widest, utf8.RuneCountInString(row[0]))
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "  %-*s  %s\n", widest, row[0], hanging(row[1], widest+4, helpWidth))
	}
	return b.String()
}

// heads returns the first words of the rows.
func heads(rows [][2]string) []string {
	var words []string
	for _, row := range rows {
		words = append(words, row[0])
	}
	return words
}

// hanging breaks text into lines that start at column indent.
func hanging(text string, indent, width int) string {
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
