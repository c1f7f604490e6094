package emit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Pixels of arrows.
const (
	headLength = 7
	headHalf   = 3.4
	dotRadius  = 2.6
	doneSize   = 7
)

// trunkPlace is the part of the width of a trunk that is before its line. trunkGap pixels after its
// arrows stay free if another trunk follows.
const (
	trunkPlace = 0.25
	trunkGap   = 2
)

// grid draws the borders and numbers of the rounds, and the labels of the bands.
func (c *canvas) grid(p *plan) {
	c.text("n", svgMargin, p.top-34, "round")
	bottom := p.lane(len(p.scene.ranks)-1) + p.pitch/2
	var lines strings.Builder
	for _, col := range p.columns {
		fmt.Fprintf(&lines, "M%s %sV%s", num(col.x), num(p.top-46), num(bottom))
		if col.gap > 0 {
			fmt.Fprintf(&lines, "M%s %sV%s", num(col.x-col.gap), num(p.top-46), num(bottom))
			c.text("n m", col.x-col.gap/2, p.top-34, "…")
		}
		c.text("b m", col.x+col.width/2, p.top-34, col.title)
		for _, b := range col.bands {
			if b.label != "" {
				c.text("s m "+looks[b.class].id, b.x+b.width/2, p.top-19, b.label)
			}
		}
	}
	fmt.Fprintf(&lines, "M%s %sV%s", num(p.right()), num(p.top-46), num(bottom))
	c.path("hair", lines.String())
}

// lanes draws what each rank does in each round: it sends, waits or is done.
func (c *canvas) lanes(p *plan) {
	var hair, waits, active strings.Builder
	for i, rank := range p.scene.ranks {
		y := p.lane(i)
		c.text("e", p.left()-12, y+4, strconv.Itoa(rank))
		fmt.Fprintf(&hair, "M%s %sH%s", num(p.left()-6), num(y), num(p.right()))
		for column := range p.scene.numbers {
			col := &p.columns[column]
			line := fmt.Sprintf("M%s %sH%s", num(col.x), num(y), num(col.x+col.width))
			switch done := p.scene.done[i]; {
			case p.scene.sends[i][column+1]:
				active.WriteString(line)
			case done < 0 || done > column:
				waits.WriteString(line)
			}
		}
	}
	c.path("hair", hair.String())
	c.path("wait", waits.String())
	c.path("active", active.String())
}

// doneMarks draws where calls return, and marks calls that never return.
func (c *canvas) doneMarks(p *plan) {
	var done, never strings.Builder
	for i, column := range p.scene.done {
		if column < 0 {
			cross(&never, p.right()+8, p.lane(i))
			continue
		}
		square(&done, p.after(column), p.lane(i))
	}
	c.path("done", done.String())
	c.path("alarm", never.String())
}

func square(b *strings.Builder, x, y float64) {
	fmt.Fprintf(b, "M%s %sh%dv%dh-%dz", num(x-doneSize/2.0), num(y-doneSize/2.0), doneSize, doneSize, doneSize)
}

func cross(b *strings.Builder, x, y float64) {
	fmt.Fprintf(b, "M%s %sl7 7m0 -7l-7 7", num(x-3.5), num(y-3.5))
}

func (c *canvas) band(p *plan, b *band) {
	if b.trunks == nil {
		all := pen{class: b.class}
		for i := range b.stars {
			if len(b.stars) > manyStars {
				c.fan(p, b, &b.stars[i], &all)
			} else {
				c.fan(p, b, &b.stars[i], nil)
			}
		}
		all.lay(c)
		if b.detail == freeDetail {
			c.freeLabels(p, b)
		}
		return
	}
	for i, trunk := range b.trunks {
		share := (b.width - 2*bandPad) / float64(len(b.trunks))
		x := b.x + bandPad + share*(float64(i)+trunkPlace)
		for j := range trunk {
			c.trunk(p, b, &trunk[j], x, share*(1-trunkPlace)-trunkGap)
		}
	}
}

// pen collects the arrows of a star: shafts, heads and dots.
type pen struct {
	class               class
	shafts, heads, dots strings.Builder
}

// head draws a head whose tip is at x, y for a shaft in the direction of the unit vector dx, dy.
func (n *pen) head(x, y, dx, dy float64) {
	bx, by := x-dx*headLength, y-dy*headLength
	ox, oy := -dy*headHalf, dx*headHalf
	fmt.Fprintf(&n.heads, "M%s %sL%s %sL%s %s", num(bx+ox), num(by+oy), num(x), num(y), num(bx-ox), num(by-oy))
	if !looks[n.class].open {
		n.heads.WriteByte('z')
	}
}

func (n *pen) dot(x, y float64) {
	fmt.Fprintf(&n.dots, "M%s %sa%[3]s %[3]s 0 1 0 %[4]s 0a%[3]s %[3]s 0 1 0 -%[4]s 0z", num(x-dotRadius), num(y), num(dotRadius), num(2*dotRadius))
}

// lay puts what the pen has drawn onto the canvas.
func (n *pen) lay(c *canvas) {
	l := looks[n.class]
	class := l.id
	if n.class.onlyIfLost() {
		class += " likely"
	}
	c.path(class, n.shafts.String())
	if l.open {
		c.path(class+" dash0", n.heads.String())
	} else {
		c.path(l.id+" full dash0 nib", n.heads.String())
	}
	c.path(l.id+" full dash0 nib", n.dots.String())
}

// manyStars is the maximum number of stars of a band that have elements of their own. More stars
// share theirs.
const manyStars = 24

// fan draws a star as straight arrows through the band. It uses the pen shared, or its own if that
// is nil.
func (c *canvas) fan(p *plan, b *band, s *star, shared *pen) {
	n := shared
	if n == nil {
		n = &pen{class: b.class}
	}
	x1, x2 := b.x+bandPad, b.x+b.width-bandPad
	for _, l := range s.leaves {
		from, to := s.hub, l.rank
		if !s.out {
			from, to = to, from
		}
		y1, y2 := p.lane(from), p.lane(to)
		length := math.Hypot(x2-x1, y2-y1)
		dx, dy := (x2-x1)/length, (y2-y1)/length
		fmt.Fprintf(&n.shafts, "M%s %sL%s %s", num(x1), num(y1), num(x2-dx*3), num(y2-dy*3))
		n.head(x2, y2, dx, dy)
		n.dot(x1, y1)
	}
	if shared == nil {
		n.lay(c)
	}
	if b.detail == leafDetail || b.detail == starDetail {
		c.fanLabels(p, b, s, x1, x2)
	}
}

// fanLabels writes the labels of straight arrows, near the end that they do not share.
func (c *canvas) fanLabels(p *plan, b *band, s *star, x1, x2 float64) {
	for _, l := range s.leaves {
		at := 0.3
		if s.out {
			at = 0.62
		}
		x := x1 + at*(x2-x1)
		hub, leaf := p.lane(s.hub), p.lane(l.rank)
		y := leaf + 0.34*(hub-leaf)
		c.label("s m "+looks[b.class].id, x, y+3, l.cargo.label())
	}
}

// freeLabels writes the labels of the straight arrows of a band where no other label is. An arrow
// without such a place has no label, because the band's label includes it.
func (c *canvas) freeLabels(p *plan, b *band) {
	type box struct{ x, y, width float64 }
	var taken []box
	x1, x2 := b.x+bandPad, b.x+b.width-bandPad
	for i := range b.stars {
		s := &b.stars[i]
		for _, l := range s.leaves {
			from, to, label := s.hub, l.rank, l.cargo.label()
			if !s.out {
				from, to = to, from
			}
			for _, part := range []float64{0.5, 0.36, 0.64, 0.24, 0.76} {
				at := box{x1 + part*(x2-x1), p.lane(from) + part*(p.lane(to)-p.lane(from)), textWidth(label, smallSize) + 4}
				overlaps := func(o box) bool {
					return math.Abs(o.x-at.x) < (o.width+at.width)/2 && math.Abs(o.y-at.y) < smallSize+1
				}
				if !slices.ContainsFunc(taken, overlaps) {
					taken = append(taken, at)
					c.label("s m "+looks[b.class].id, at.x, at.y+3, label)
					break
				}
			}
		}
	}
}

// trunk draws a star as a line across the lanes at x, with an arrow of length reach for each leaf.
func (c *canvas) trunk(p *plan, b *band, s *star, x, reach float64) {
	n := pen{class: b.class}
	lo, hi := s.span()
	fmt.Fprintf(&n.shafts, "M%s %sV%s", num(x), num(p.lane(lo)), num(p.lane(hi)))
	for _, l := range s.leaves {
		if s.out {
			n.arrival(x, p.lane(l.rank), reach)
		} else {
			n.dot(x, p.lane(l.rank))
		}
		if b.detail == leafDetail {
			c.label("s "+looks[b.class].id, x+4, p.lane(l.rank)-5, l.cargo.label())
		}
	}
	if s.out {
		n.dot(x, p.lane(s.hub))
	} else {
		n.arrival(x, p.lane(s.hub), reach)
	}
	n.lay(c)
	if b.detail == starDetail {
		c.text("s m "+looks[b.class].id, x, p.lane(lo)-7, s.label())
	}
}

// arrival draws the arrow from a trunk along a lane.
func (n *pen) arrival(x, y, reach float64) {
	fmt.Fprintf(&n.shafts, "M%s %sh%s", num(x), num(y), num(reach-3))
	n.head(x+reach, y, 1, 0)
}

// Pixels of a fold.
const (
	foldSize  = 5 // half its width
	foldShift = 0 // distance beyond the end of the round
)

// maxTitled is the maximum number of folds that have titles. If there are more, the diamonds of a
// column are one element.
const maxTitled = 96

// foldMarks draws a diamond where ranks fold. The term of the result is below it if it is short,
// and it is the diamond's title.
func (c *canvas) foldMarks(p *plan) {
	t := p.scene.run
	for column := range len(p.scene.numbers) + 1 {
		var all strings.Builder
		for lane, made := range p.scene.foldsAfter(column) {
			if made == nil {
				continue
			}
			x, y := p.after(column)+foldShift, p.lane(lane)
			diamond(&all, x, y)
			if text := t.wordsOf(made, maxTerm); p.pitch == widePitch && len(text) <= maxTerm && !strings.Contains(text, "…") {
				c.text("s m ink", x, y+foldSize+smallSize, text)
			}
			if len(p.scene.folds) > maxTitled {
				continue
			}
			fmt.Fprintf(&c.body, "<path class=\"fold\" d=\"%s\"><title>%s</title></path>\n", all.String(), escaped(t.titleOf(made, p.scene.ranks[lane])))
			all.Reset()
		}
		c.path("fold", all.String())
	}
}

// titleOf describes the folds of a rank after a round.
func (t *run) titleOf(made []fold, rank int) string {
	const most = 4
	var titles []string
	for i, f := range made {
		if i == most-1 && len(made) > most {
			titles = append(titles, fmt.Sprintf("and %d more", len(made)-i))
			break
		}
		f.rank = rank
		titles = append(titles, foldTitle(t, f))
	}
	return strings.Join(titles, "; ")
}

func diamond(b *strings.Builder, x, y float64) {
	fmt.Fprintf(b, "M%s %sl%[3]d %[3]d %[3]d %[4]d %[4]d %[4]dz", num(x-foldSize), num(y), foldSize, -foldSize)
}
