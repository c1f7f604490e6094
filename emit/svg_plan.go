package emit

import (
	"math"
	"slices"
	"strconv"
)

// Pixels of the layout.
const (
	bandHeader = 52 // above the first lane: number of the round, cargo
	bandPad    = 7  // beside the contents of a band
	trunkPitch = 17
	minBand    = 42
	gapWidth   = 22  // for rounds that are left out
	rankColumn = 42  // for the ranks' numbers
	maxStretch = 110 // how much wider than necessary a band may be
)

// Transfers of a round and class are straight arrows while that stays readable. Otherwise they hang
// on trunks, as multicasts always do. No rank may have more than maxFan arrows, and there may be at
// most maxPerRank for each rank that takes part. If a fan has wideFan arrows or more, the fans must
// together reach over all ranks at most maxSpans times, and must not all share a rank.
const (
	maxFan     = 6
	maxPerRank = 2
	wideFan    = 4
	maxSpans   = 2
)

// plan is the positions of a picture with a lane for each rank.
type plan struct {
	scene   *scene
	pitch   float64 // from lane to lane
	top     float64 // of the first lane
	columns []column
}

// column is a round or, at the end, the transfers that only happen if something is lost.
type column struct {
	title    string
	x, width float64
	gap      float64 // before it, for rounds that are left out
	bands    []band
}

// band is what one class moves in a round.
type band struct {
	class    class
	x, width float64
	stars    []star
	trunks   [][]star // packed; nil: straight arrows
	label    string   // the cargo of all of them
	detail   detail
}

// detail says where labels are, besides the band's label.
type detail uint8

const (
	noDetail   detail = iota
	starDetail        // at every star
	leafDetail        // at every leaf
	freeDetail        // at every arrow that has a free place
)

func (p *plan) lane(rank int) float64 { return p.top + float64(rank)*p.pitch }

// left returns the start of the first round.
func (p *plan) left() float64 { return svgMargin + rankColumn }

func (p *plan) right() float64 {
	if n := len(p.columns); n > 0 {
		return p.columns[n-1].x + p.columns[n-1].width
	}
	return p.left() + minBand
}

// after returns the end of a round. For 0 it is the start of the first round.
func (p *plan) after(round int) float64 {
	if round == 0 {
		return p.left()
	}
	return p.columns[round-1].x + p.columns[round-1].width
}

func newPlan(sc *scene) *plan {
	p := &plan{scene: sc, pitch: lanePitch(len(sc.ranks))}
	x := p.left()
	for i, stars := range sc.stars() {
		gap := 0.0
		if sc.gap(i + 1) {
			gap = gapWidth
		}
		col := p.column(x+gap, stars)
		col.gap, col.title = gap, strconv.Itoa(sc.numbers[i])
		p.columns = append(p.columns, col)
		x += gap + col.width
	}
	p.stretch(minSVGWidth - svgMargin - spareSpace)
	p.addSpare()
	return p
}

// stretch makes the columns wider, within reason, so that they reach x.
func (p *plan) stretch(x float64) {
	bands := 0
	for _, col := range p.columns {
		bands += len(col.bands)
	}
	extra := math.Floor(min(maxStretch, (x-p.right())/float64(max(1, bands))))
	if extra <= 0 {
		return
	}
	moved := 0.0
	for i := range p.columns {
		col := &p.columns[i]
		col.x += moved
		for j := range col.bands {
			col.bands[j].x += moved
			col.bands[j].width += extra
			col.width += extra
			moved += extra
		}
	}
}

// widePitch is the distance of lanes that have room for labels between them.
const widePitch = 30

func lanePitch(ranks int) float64 {
	switch {
	case ranks <= 10:
		return widePitch
	case ranks <= 20:
		return 24
	}
	return 20
}

// column lays the bands of a round side by side.
func (p *plan) column(x float64, all []star) column {
	col := column{x: x}
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].class == all[0].class {
			n++
		}
		b := p.band(all[:n])
		b.x = x + col.width
		col.bands = append(col.bands, b)
		col.width += b.width
		all = all[n:]
	}
	col.width = max(col.width, minBand)
	return col
}

func (p *plan) band(stars []star) band {
	b := band{class: stars[0].class, stars: stars}
	if !b.class.onlyIfLost() {
		b.label = bandLabel(stars)
	}
	if !p.straight(stars) {
		b.trunks = packTrunks(stars)
	}
	b.detail = b.chooseDetail()
	if b.detail == noDetail && b.trunks == nil && p.pitch == widePitch && bundled(stars) {
		b.detail = freeDetail
	}
	b.width = max(minBand, p.need(&b), textWidth(b.label, smallSize)+12)
	return b
}

// need returns the width of the arrows of a band.
func (p *plan) need(b *band) float64 {
	if b.trunks == nil {
		room := min(26+2*float64(longestSpan(b.stars)), 80)
		if b.detail == freeDetail {
			room = max(room, 3*widestLabel(b.stars))
		}
		return 2*bandPad + room
	}
	return 2*bandPad + float64(len(b.trunks))*b.pitch()
}

// pitch returns the distance of trunks, which have their labels between them.
func (b *band) pitch() float64 {
	widest := 0.0
	for _, s := range b.stars {
		switch b.detail {
		case starDetail:
			widest = max(widest, textWidth(s.label(), smallSize)+3)
		case leafDetail:
			for _, l := range s.leaves {
				widest = max(widest, textWidth(l.cargo.label(), smallSize)+8)
			}
		}
	}
	return max(trunkPitch, widest)
}

func longestSpan(stars []star) int {
	longest := 0
	for _, s := range stars {
		lo, hi := s.span()
		longest = max(longest, hi-lo)
	}
	return longest
}

func (p *plan) straight(stars []star) bool {
	if stars[0].class.onlyIfLost() {
		return true
	}
	edges, spans, widest := 0, 0, 0
	ends := map[int]bool{}
	for _, s := range stars {
		lo, hi := s.span()
		edges, spans, widest = edges+len(s.leaves), spans+hi-lo, max(widest, len(s.leaves))
		ends[s.hub] = true
		for _, l := range s.leaves {
			ends[l.rank] = true
		}
	}
	if widest >= wideFan && (p.scene.hub || spans > maxSpans*len(p.scene.ranks)) {
		return false
	}
	return stars[0].class != mcast && widest <= maxFan && edges <= maxPerRank*len(ends)
}

// packTrunks puts stars that do not overlap below each other.
func packTrunks(stars []star) [][]star {
	var out [][]star
next:
	for _, s := range stars {
		lo, _ := s.span()
		for i := range out {
			if _, hi := out[i][len(out[i])-1].span(); hi < lo {
				out[i] = append(out[i], s)
				continue next
			}
		}
		out = append(out, []star{s})
	}
	return out
}

// bundled reports whether there are several stars with different cargo and messages of several
// slots.
func bundled(stars []star) bool {
	for i := range stars {
		if slices.ContainsFunc(stars[i].leaves, func(l leaf) bool { return l.cargo.bundled() }) {
			return len(stars) > 1 && stars[i].label() != bandLabel(stars)
		}
	}
	return false
}

func widestLabel(stars []star) float64 {
	widest := 0.0
	for _, s := range stars {
		for _, l := range s.leaves {
			widest = max(widest, textWidth(l.cargo.label(), smallSize))
		}
	}
	return widest
}

// chooseDetail labels what differs, unless that is too much.
func (b *band) chooseDetail() detail {
	if b.class.onlyIfLost() {
		return noDetail
	}
	same, uniform, widest := true, true, 0
	for i := range b.stars {
		same = same && b.stars[i].label() == b.stars[0].label()
		uniform = uniform && b.stars[i].uniform()
		widest = max(widest, len(b.stars[i].leaves))
	}
	switch {
	case uniform && same:
		return noDetail
	case b.trunks == nil && (len(b.stars) > 1 || widest >= wideFan), b.trunks != nil && !uniform && len(b.trunks) > 2:
		return noDetail
	case b.trunks != nil && uniform:
		return starDetail
	}
	return leafDetail
}

// bandLabel spells the cargo of all stars. If they differ, it spells all slots of all of them.
func bandLabel(stars []star) string {
	all := star{class: stars[0].class}
	for _, s := range stars {
		all.leaves = append(all.leaves, s.leaves...)
	}
	return all.label()
}
