package emit

import "github.com/schedgen/schedgen/ir"

// condition tells how the code sees that all slots are set which a rule waits
// for.
type condition uint8

const (
	always  condition = iota // there is only one
	partner                  // there are two: the other is set
	masked                   // all lie in one word of the bits
	counted                  // a counter is down to zero
)

// conditions chooses how rules see that all their slots are set, in one way for
// all ranks, and numbers the counters.
func (ro *role) conditions(s *ir.Schedule, codes []*goCode) {
	for i := range ro.families {
		cond, word := conditionOf(s, codes, i)
		ro.conds, ro.words = append(ro.conds, cond), append(ro.words, word)
	}
	for _, c := range codes {
		n := 0
		for i, f := range c.families {
			f.counter = goNumber{values: []int{n}, free: ro.conds[i] != counted}
			if ro.conds[i] == counted {
				n += f.times.at()
			}
		}
	}
}

// findWhole finds the classes that are progressions through all slots at every
// rank: what the last slot is does not matter then.
func findWhole(codes []*goCode) {
	for _, of := range []func(c *goCode) []slotClass{
		func(c *goCode) []slotClass { return c.chunk },
		func(c *goCode) []slotClass { return c.signal },
	} {
		for i := range of(codes[0]) {
			stride := 1
			for _, c := range codes {
				stride = max(stride, of(c)[i].stride.at())
			}
			all := true
			for _, c := range codes {
				cl := &of(c)[i]
				all = all && cl.lo.at() < stride && cl.hi.at()-1+stride >= cl.total
			}
			for _, c := range codes {
				of(c)[i].whole, of(c)[i].hi.free = all, all
			}
		}
	}
}

// conditionOf returns how the rules of family i see that their slots are set,
// and the word of bits if they lie in one.
func conditionOf(s *ir.Schedule, codes []*goCode, i int) (cond condition, word int) {
	when := codes[0].families[i].when
	single, several, word := true, false, -1
	for _, c := range codes {
		f := c.families[i]
		several = several || f.times.at() > 1
		for j := range f.when {
			w := &f.when[j]
			first := firstBit(s, w)
			last := first + w.n.at() - 1
			single = single && first == last
			if word < 0 {
				word = first / 64
			}
			if first/64 != word || last/64 != word {
				several = true // for a mask
			}
		}
	}
	switch {
	case single && len(when) == 1:
		return always, 0
	case single && len(when) == 2:
		return partner, 0
	case !several:
		return masked, word
	}
	return counted, 0
}
