package emit

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Pixels. Text is laid out for a width that common fonts do not exceed.
const (
	svgMargin   = 20
	minSVGWidth = 480
	textSize    = 12
	smallSize   = 10
	charWidth   = 0.58 // part of the text size
)

// canvas collects the elements of a picture that grows downwards.
type canvas struct {
	run   *run
	note  string // what an extract shows and leaves out
	width float64
	body  strings.Builder
}

func newCanvas(t *run, width float64) *canvas { return &canvas{run: t, width: math.Ceil(width)} }

// textWidth returns the maximum width of a text in pixels.
func textWidth(text string, size float64) float64 {
	return math.Ceil(float64(len([]rune(text))) * size * charWidth)
}

// num spells a length with at most one decimal, so that the same picture has the same bytes on
// every machine.
func num(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func escaped(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		return "" // writing to a Builder never fails
	}
	return b.String()
}

// path draws data in the given class.
func (c *canvas) path(class, data string) {
	if data != "" {
		fmt.Fprintf(&c.body, "<path class=\"%s\" d=\"%s\"/>\n", class, data)
	}
}

// text writes text at a base line. class may name an anchor: "m" puts the middle of the text at x,
// and "e" its end.
func (c *canvas) text(class string, x, y float64, text string) {
	fmt.Fprintf(&c.body, "<text class=\"%s\" x=\"%s\" y=\"%s\">%s</text>\n", class, num(x), num(y), escaped(text))
}

// label writes the cargo of an arrow. The arrow does not show through the blanks of the text.
func (c *canvas) label(class string, x, y float64, text string) {
	if !strings.ContainsAny(text, " …") {
		c.text(class, x, y, text)
		return
	}
	fmt.Fprintf(&c.body, "<text class=\"%s\" style=\"stroke-width:6px\" x=\"%s\" y=\"%s\">%s</text>\n", class, num(x), num(y), escaped(text))
}

// header writes the title and what is drawn. It returns the next free height.
func (c *canvas) header() float64 {
	c.text("t", svgMargin, svgMargin+12, c.run.Name())
	y := float64(svgMargin + 12)
	for _, line := range c.wrapped(headerFacts(&c.run.Header) + " · " + totals(c.run)) {
		y += 17
		c.text("n", svgMargin, y, line)
	}
	for _, line := range c.wrapped(c.note) {
		y += 17
		c.text("n", svgMargin, y, line)
	}
	return y + 12
}

// wrapped breaks a text into lines that fit between the margins.
func (c *canvas) wrapped(text string) []string {
	columns := int((c.width - 2*svgMargin) / (textSize * 0.54))
	var out []string
	for _, r := range wrap(text, columns, plain) {
		out = append(out, strings.TrimSuffix(r.render(false), "\n"))
	}
	return out
}

// finish returns the document, of the given height.
func (c *canvas) finish(height float64) string {
	size := num(c.width) + " " + num(height)
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %s\" width=\"%s\" height=\"%s\" role=\"img\" aria-labelledby=\"title desc\">\n",
		size, num(c.width), num(height))
	fmt.Fprintf(&b, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n", escaped(c.run.Name()), escaped(describe(c.run, c.note)))
	b.WriteString("<style>\n" + stylesheet(len(c.run.folds) > 0) + "</style>\n")
	fmt.Fprintf(&b, "<rect class=\"paper\" width=\"%s\" height=\"%s\" rx=\"6\"/>\n", num(c.width), num(height))
	b.WriteString(c.body.String())
	b.WriteString("</svg>\n")
	return b.String()
}

// stylesheet returns the styles that do not depend on the background, then the colours on a light
// and on a dark one. Styles of folds are included if folds is true.
func stylesheet(folds bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "text{font:%dpx ui-sans-serif,system-ui,\"DejaVu Sans\",Arial,sans-serif}\n", textSize)
	b.WriteString("text.t{font-size:15px;font-weight:600}text.b{font-weight:600}text.m{text-anchor:middle}text.e{text-anchor:end}\n")
	fmt.Fprintf(&b, "text.s{font-size:%dpx;paint-order:stroke;stroke-width:3px;stroke-linejoin:round}\n", smallSize)
	b.WriteString("path{fill:none}.hair{stroke-width:1}.active{stroke-width:4}.wait{stroke-width:1.1;stroke-dasharray:2 3}.alarm{stroke-width:1.8}\n")
	for _, l := range looks {
		fmt.Fprintf(&b, ".%s{stroke-width:%s", l.id, num(l.width))
		if l.dash != "" {
			fmt.Fprintf(&b, ";stroke-dasharray:%s", l.dash)
		}
		b.WriteString("}\n")
	}
	b.WriteString(".dash0{stroke-dasharray:none}.likely{stroke-opacity:.75}\n")
	b.WriteString(inks(folds, func(l look) string { return l.light }))
	b.WriteString("@media (prefers-color-scheme:dark){\n" + inks(folds, func(l look) string { return l.dark }) + "}\n")
	return b.String()
}

func inks(folds bool, of func(look) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".paper{fill:%s}text{fill:%s}text.n{fill:%s}text.s{stroke:%s}text.alarm{fill:%s}\n",
		of(paper), of(ink), of(faint), of(paper), of(alarm))
	fmt.Fprintf(&b, "path.hair{stroke:%s}path.active{stroke:%s}path.wait{stroke:%s}path.alarm{stroke:%s}path.done{fill:%s}\n",
		of(hair), of(lane), of(faint), of(alarm), of(ink))
	if folds {
		fmt.Fprintf(&b, "path.fold{fill:%s;stroke:%s;stroke-width:1.4}text.ink{fill:%[2]s}\n", of(paper), of(ink))
	}
	for _, l := range looks {
		fmt.Fprintf(&b, "path.%[1]s{stroke:%[2]s}path.%[1]s.full,text.%[1]s{fill:%[2]s}\n", l.id, of(l))
	}
	return b.String()
}
