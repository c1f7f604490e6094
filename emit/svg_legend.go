package emit

import (
	"fmt"
	"slices"
	"strings"
)

// legendRow is the height of a line of the legend, and sampleWidth is the width of a sample in it.
const (
	legendRow   = 22
	sampleWidth = 28
)

// key is an entry of the legend: a name, and a function that draws its sample from x on at height
// y.
type key struct {
	name   string
	sample func(c *canvas, x, y float64)
}

// legend explains the kinds of lines that occur, below top. It returns the height of the picture.
func (c *canvas) legend(p *plan, top float64) float64 {
	x, y := float64(svgMargin), top+8
	for _, k := range legendKeys(p) {
		width := sampleWidth + 6 + textWidth(k.name, textSize) + 8
		if x > svgMargin && x+width > c.width {
			x, y = svgMargin, y+legendRow
		}
		k.sample(c, x, y)
		c.text("n", x+sampleWidth+6, y+4, k.name)
		x += width
	}
	return y + svgMargin
}

func legendKeys(p *plan) []key {
	var out []key
	for _, cl := range usedClasses(p) {
		name := looks[cl].name
		if looks[cl].many != "" && p.bundles(cl) {
			name = looks[cl].many
		}
		out = append(out, key{name, func(c *canvas, x, y float64) { c.sampleArrow(cl, x, y) }})
	}
	out = append(out,
		lineKey("active", "sends"), lineKey("wait", "waits"),
		key{"call returns", func(c *canvas, x, y float64) { c.mark("done", square, x, y) }})
	if len(p.scene.folds) > 0 {
		out = append(out, key{"folds: (01) is 0's contribution with 1's folded onto it", func(c *canvas, x, y float64) { c.mark("fold", diamond, x, y) }})
	}
	for _, line := range namesIn(p.scene.run.Schedule, slices.Values(p.scene.ranks)) {
		out = append(out, key{line, func(*canvas, float64, float64) {}})
	}
	if slices.Contains(p.scene.done, -1) {
		out = append(out, key{"never returns", func(c *canvas, x, y float64) { c.mark("alarm", cross, x, y) }})
	}
	return out
}

// bundles reports whether a message of the class has several slots.
func (p *plan) bundles(cl class) bool {
	return slices.ContainsFunc(p.scene.transfers, func(tr transfer) bool { return tr.class == cl && len(tr.message) > 1 })
}

// usedClasses returns the classes that are drawn, in order.
func usedClasses(p *plan) []class {
	var out []class
	for _, col := range p.columns {
		for _, b := range col.bands {
			out = append(out, b.class)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func lineKey(class, name string) key {
	return key{name, func(c *canvas, x, y float64) {
		c.path(class, fmt.Sprintf("M%s %sh%d", num(x), num(y), sampleWidth))
	}}
}

func (c *canvas) mark(class string, draw func(*strings.Builder, float64, float64), x, y float64) {
	var b strings.Builder
	draw(&b, x+sampleWidth-8, y)
	c.path(class, b.String())
}

func (c *canvas) sampleArrow(cl class, x, y float64) {
	n := pen{class: cl}
	n.dot(x+dotRadius, y)
	fmt.Fprintf(&n.shafts, "M%s %sh%d", num(x+dotRadius), num(y), sampleWidth-6)
	n.head(x+sampleWidth, y, 1, 0)
	n.lay(c)
}

// results writes the results of ranks at the end below y, if contributions are folded. It returns
// the height of the picture.
func (c *canvas) results(y float64) float64 {
	const most = 8
	all := c.run.results()
	for i, r := range all {
		line := fmt.Sprintf("result %s of %s: ", slotList(r.chunks), rankPhrase(set(r.ranks)))
		columns := int((c.width - 2*svgMargin) / (textSize * 0.54))
		if line += c.run.text(r.term, max(16, columns-len(line))); i == most {
			line = "… and " + count(len(all)-i, "more result")
		}
		c.text("n", svgMargin, y+4, line)
		if y += 17; i == most {
			break
		}
	}
	return y
}
