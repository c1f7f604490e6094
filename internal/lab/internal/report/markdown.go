package report

import (
	"fmt"
	"io"
	"strings"
)

// WriteTitles begins a table in Markdown. A colon at the end of a title aligns its column to the
// right and is not part of the title, so "hosts:" is a column of numbers.
func WriteTitles(w io.Writer, titles ...string) {
	line := "|"
	cells := make([]any, len(titles))
	for i, title := range titles {
		name, right := strings.CutSuffix(title, ":")
		if cells[i] = name; right {
			line += "--:|"
		} else {
			line += "---|"
		}
	}
	WriteCells(w, cells...)
	fmt.Fprintln(w, line)
}

// WriteCells writes a row of a table in Markdown, with each cell as fmt.Sprint prints it.
func WriteCells(w io.Writer, cells ...any) {
	line := "|"
	for _, cell := range cells {
		if text := strings.ReplaceAll(fmt.Sprint(cell), "|", `\|`); text != "" {
			line += " " + text
		}
		line += " |"
	}
	fmt.Fprintln(w, line)
}
