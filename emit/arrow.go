package emit

import "unicode/utf8"

// arrows draws one star: a shaft over its span, dots at the ends that send, and heads at the ends
// that receive.
func (sh *sheet) arrows(r row, s *star) {
	st := classStyle + style(s.class)
	lo, hi := s.span()
	for x := sh.lane(lo) + 1; x < sh.lane(hi); x++ {
		r[x] = cell{shaft(s.class), st}
	}
	if s.out {
		r[sh.lane(s.hub)] = cell{'●', st}
	}
	for _, l := range s.leaves {
		sh.leafEnd(r, s, l.rank, lo < l.rank && l.rank < hi)
	}
	if sh.inline {
		sh.labels(r, s)
	}
	if !s.out && lo < s.hub && s.hub < hi {
		r[sh.lane(s.hub)] = cell{'│', dim}
	}
}

func shaft(c class) rune {
	switch c {
	case mcast:
		return '═'
	case repair:
		return '╌'
	case request:
		return '┄'
	case answer:
		return '┈'
	}
	return '─'
}

// leafEnd draws the end of a star at a leaf. through says that the shaft continues behind it.
func (sh *sheet) leafEnd(r row, s *star, rank int, through bool) {
	st := classStyle + style(s.class)
	x, right := sh.lane(rank), rank > s.hub
	if !s.out {
		r[x] = cell{'●', st}
		sh.head(r, sh.lane(s.hub), !right, st)
		return
	}
	sh.head(r, x, right, st)
	if s.class == mcast && sh.scene.run.lost {
		sh.loss(r, x, right, st)
	}
	if through {
		r[x] = cell{junction(s.class, right), st}
	}
}

// head draws the head of an arrow that points at column x, to the right or left.
func (sh *sheet) head(r row, x int, right bool, st style) {
	if right {
		r[x-1] = cell{'▶', st}
	} else {
		r[x+1] = cell{'◀', st}
	}
}

// loss draws a cross in place of a head, because nothing arrives.
func (sh *sheet) loss(r row, x int, right bool, st style) {
	if right {
		r[x-1] = cell{'×', st}
	} else {
		r[x+1] = cell{'×', st}
	}
}

func junction(c class, right bool) rune {
	switch {
	case c == mcast && right:
		return '╞'
	case c == mcast:
		return '╡'
	case right:
		return '├'
	}
	return '┤'
}

// labels writes the cargo of a star into its shaft. If all leaves get the same, it writes the cargo
// once on each side of the hub, and otherwise next to every leaf.
func (sh *sheet) labels(r row, s *star) {
	if !s.uniform() {
		for _, l := range s.leaves {
			sh.label(r, s, gapTowards(l.rank, s.hub), l)
		}
		return
	}
	first, last := s.leaves[0], s.leaves[len(s.leaves)-1]
	if first.rank < s.hub {
		sh.label(r, s, s.hub-1, first)
	}
	if last.rank > s.hub {
		sh.label(r, s, s.hub, last)
	}
}

// gapTowards returns the gap beside rank on the side of hub. Gap i is between lanes i and i+1.
func gapTowards(rank, hub int) int {
	if hub < rank {
		return rank - 1
	}
	return rank
}

// label writes a leaf's slots into the middle of a gap.
func (sh *sheet) label(r row, s *star, gap int, l leaf) {
	text := l.cargo.label()
	if utf8.RuneCountInString(text)+6 <= sh.pitch {
		text = " " + text + " "
	}
	room := sh.pitch - 1
	r.text(sh.lane(gap)+1+(room-utf8.RuneCountInString(text))/2, text, classStyle+style(s.class))
}
