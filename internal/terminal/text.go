package terminal

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// HelpWidth is the width of the tables in help texts. A help text indents them by two more columns.
const HelpWidth = 76

// Table lays out rows of a word and its meaning. The rows are indented, so that a help
// text does not reflow them.
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
