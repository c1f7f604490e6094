package emit

// stretch is slots lo … hi-1 of one kind that have the same effect, or effects
// that follow the slot's index.
type stretch struct {
	lo, hi int
	effect
}

// stretches cuts the effects of the slots of one kind into as few pieces as go
// from left to right.
func stretches(effects []effect) []stretch {
	var out []stretch
	for i := 0; i < len(effects); {
		s := stretchFrom(effects, i)
		out = append(out, s)
		i = s.hi
	}
	return out
}

func stretchFrom(effects []effect, lo int) stretch {
	s := stretch{lo: lo, hi: lo + 1, effect: effects[lo]}
	if s.hi == len(effects) || !s.alike(effects[s.hi]) {
		return s
	}
	s.items = make([]trigger, len(effects[lo].items))
	for k := range s.items {
		s.items[k] = effects[lo].items[k].through(effects[s.hi].items[k], lo)
	}
	for s.hi < len(effects) && s.alike(effects[s.hi]) && s.reaches(effects[s.hi]) {
		s.hi++
	}
	return s
}

// alike reports whether e differs from s in numbers at most that may follow
// the index.
func (s *stretch) alike(e effect) bool {
	if s.done != e.done || len(s.items) != len(e.items) {
		return false
	}
	for k := range s.items {
		a, b := s.items[k], e.items[k]
		a.arg, a.do, a.arm = b.arg, b.do, b.arm
		if a != b {
			return false
		}
	}
	return true
}

// reaches reports whether the lines of s go through e at index s.hi.
func (s *stretch) reaches(e effect) bool {
	for k := range s.items {
		a, b := &s.items[k], &e.items[k]
		if a.arg.at(s.hi) != b.arg.base || a.do.at(s.hi) != b.do.base || a.arm.at(s.hi) != b.arm.base {
			return false
		}
	}
	return true
}

// through returns a with lines that go through a at index i and b at i+1.
func (a trigger) through(b trigger, i int) trigger {
	join := func(a, b line) line {
		step := b.base - a.base
		return line{base: a.base - step*i, step: step}
	}
	a.arg, a.do, a.arm = join(a.arg, b.arg), join(a.do, b.do), join(a.arm, b.arm)
	return a
}

// idle reports whether setting the slots of all stretches does nothing but mark
// them.
func idle(stretches []stretch) bool {
	for i := range stretches {
		if stretches[i].done || len(stretches[i].items) > 0 {
			return false
		}
	}
	return true
}
