package report

import (
	"fmt"
	"io"
	"strings"
)

// WriteHead writes the beginning of a report in Markdown: its title, lines that describe the
// machine and the measured programs, and a text.
func WriteHead(w io.Writer, title string, about []string, text string) {
	fmt.Fprintf(w, "# %s\n\n", title)
	for _, line := range about {
		fmt.Fprintf(w, "- %s\n", line)
	}
	fmt.Fprintf(w, "\n%s", text)
}

// OneLine returns the text of an error in one line, for a field of a table.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
