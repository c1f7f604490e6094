package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/schedgen/schedgen/internal/command/syntax"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/version"
	"github.com/schedgen/schedgen/internal/words"
)

// mostWide is the greatest width of a help text in columns.
const mostWide = 100

// help prints the help with the flags that most users need.
func (v *verb) help(std terminal.Stdio) error { return v.printHelp(std, false) }

// helpAll prints the help with all flags and the whole text.
func (v *verb) helpAll(std terminal.Stdio) error { return v.printHelp(std, true) }

func (v *verb) printHelp(std terminal.Stdio, all bool) error {
	width := terminal.WidthOf(std.Out)
	if n, err := strconv.Atoi(std.Getenv("COLUMNS")); err == nil && n > 0 {
		width = n
	}
	h := helpText{width: min(width, mostWide)}
	h.usage(&v.Verb)
	h.paragraphs(v.Help)
	if all || v.brief == "" {
		h.paragraphs(v.Detail)
	} else {
		h.paragraphs(v.brief)
		h.paragraphs(v.examples)
	}
	h.arguments(v.Args)
	left := 0
	for _, g := range v.groups[1:] {
		left += h.flags(g.title, g.flags, all)
	}
	h.flags(v.groups[0].title, v.groups[0].flags, true)
	h.verbs(v.Verbs)
	if left > 0 {
		h.paragraphs(fmt.Sprintf("%s, and what the command does: %s --help-all", words.Count(int64(left), "more flag", "more flags"), v.Path()))
	}
	if v.Parent == nil {
		h.paragraphs(terminal.ExitCodes)
	}
	_, err := io.WriteString(std.Out, h.String())
	return err
}

// helpText is a help text for a terminal of some width.
type helpText struct {
	strings.Builder
	width int
}

func (h *helpText) usage(v *syntax.Verb) {
	h.WriteString("Usage: " + terminal.Hanging(v.Path()+v.Arguments, len("Usage: "), h.width) + "\n")
	if len(v.Verbs) > 0 {
		fmt.Fprintf(h, "       %s <verb> ...\n", v.Path())
	}
}

// paragraphs writes a text in the form of Go's doc comments, with a blank line before each
// paragraph. It breaks the lines anew, except in indented paragraphs.
func (h *helpText) paragraphs(text string) {
	for p := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		switch {
		case p == "":
		case strings.HasPrefix(p, " "):
			h.WriteString("\n  " + strings.ReplaceAll(p, "\n", "\n  ") + "\n")
		default:
			h.WriteString("\n" + terminal.Hanging(p, 0, h.width) + "\n")
		}
	}
}

// flags writes a table of flags under a title. Without all, it leaves out flags for experts, and
// returns their number.
func (h *helpText) flags(title string, flags []*syntax.Value, all bool) (left int) {
	var rows [][2]string
	for _, f := range flags {
		if f.Expert && !all {
			left++
			continue
		}
		rows = append(rows, [2]string{spell(f), f.Help})
	}
	h.table(title, rows)
	return left
}

func (h *helpText) arguments(args []*syntax.Value) {
	var rows [][2]string
	for _, a := range args {
		name := "<" + a.Name + ">"
		if a.Many {
			name += " ..."
		}
		rows = append(rows, [2]string{name, a.Help})
	}
	h.table("Arguments", rows)
}

// spell returns a flag as help texts write it.
func spell(v *syntax.Value) string {
	switch {
	case v.Short == 0 && v.Bool:
		return "    --" + v.Name
	case v.Short == 0:
		return "    --" + v.Name + "=" + v.Placeholder
	case v.Bool:
		return fmt.Sprintf("-%c, --%s", v.Short, v.Name)
	}
	return fmt.Sprintf("-%c, --%s=%s", v.Short, v.Name, v.Placeholder)
}

func (h *helpText) verbs(verbs []*syntax.Verb) {
	var rows [][2]string
	for _, v := range verbs {
		if !v.Hidden {
			rows = append(rows, [2]string{v.Name, v.Help})
		}
	}
	h.table("Verbs", rows)
}

// table writes rows of a word and its meaning. A word that is too wide has a line of its own.
func (h *helpText) table(title string, rows [][2]string) {
	const column = 28 // where meanings begin
	if len(rows) == 0 {
		return
	}
	h.WriteString("\n" + title + ":\n")
	for _, row := range rows {
		word, gap := "  "+row[0], "\n"+strings.Repeat(" ", column)
		if n := utf8.RuneCountInString(word); n+2 <= column {
			gap = strings.Repeat(" ", column-n)
		}
		h.WriteString(word + gap + terminal.Hanging(row[1], column, h.width) + "\n")
	}
}

func printVersion(std terminal.Stdio) error {
	_, err := fmt.Fprintln(std.Out, version.Line(program, version.Build()))
	return err
}
