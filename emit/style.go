package emit

import "strings"

// style is the look of a cell on a terminal with colours.
type style uint8

const (
	plain style = iota
	dim
	bold
	bad
	classStyle // + class
)

// sgr is the parameter of each style's "select graphic rendition" sequence. Classes have the
// terminal's colours nearest to their looks. Blue is bright, because many terminals show plain blue
// too dark on black.
var sgr = [...]string{
	plain:                         "0",
	dim:                           "2",
	bold:                          "1",
	bad:                           "31",
	classStyle + style(mcast):     "33",
	classStyle + style(putChunk):  "94",
	classStyle + style(putSignal): "32",
	classStyle + style(repair):    "35",
	classStyle + style(request):   "36",
	classStyle + style(answer):    "95",
}

// cell is one column of a line.
type cell struct {
	r rune
	s style
}

// row is one line of a drawing.
type row []cell

func newRow(width int) row {
	r := make(row, width)
	for i := range r {
		r[i] = cell{' ', plain}
	}
	return r
}

// text writes s from column at on. It leaves out what does not fit.
func (r row) text(at int, s string, st style) {
	for _, c := range s {
		if at >= 0 && at < len(r) {
			r[at] = cell{c, st}
		}
		at++
	}
}

// render returns the row as a line without trailing blanks. It writes colour sequences only where
// the style changes.
func (r row) render(color bool) string {
	var b strings.Builder
	last := plain
	for _, c := range r.trimmed() {
		if color && c.s != last {
			b.WriteString("\x1b[0m")
			if c.s != plain {
				b.WriteString("\x1b[" + sgr[c.s] + "m")
			}
			last = c.s
		}
		b.WriteRune(c.r)
	}
	if color && last != plain {
		b.WriteString("\x1b[0m")
	}
	b.WriteByte('\n')
	return b.String()
}

func (r row) trimmed() row {
	for len(r) > 0 && r[len(r)-1].r == ' ' {
		r = r[:len(r)-1]
	}
	return r
}
