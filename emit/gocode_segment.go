package emit

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// How many actions without a formula are written one by one: of several ranks,
// and of one.
const (
	maxUnrolled = 8
	maxAlone    = 64
)

// segment finds the numbers of a segment. One of few actions that are no
// formula of the loops is written action by action.
func (t *fitter) segment(around []loop, of func(c *goCode) *segment) []*segment {
	s := of(t.goCode)
	s.to.expr, s.slot.expr = nil, nil
	for k, n := range []*goNumber{&s.outer, &s.inner} {
		t.scalar(n, func(i int) *goNumber {
			return []*goNumber{&of(t.codes[i]).outer, &of(t.codes[i]).inner}[k]
		})
	}
	nest := append(slices.Clip(around),
		loop{varI, func(c *goCode) *goNumber { return &of(c).outer }},
		loop{varH, func(c *goCode) *goNumber { return &of(c).inner }})
	t.failed = nil
	found := t.found(nest, of)
	for i := 0; !found && i < len(t.failed); i++ {
		t.setApart(t.failed[i])
	}
	outer, isO := s.outer.expr.constant()
	inner, isI := s.inner.expr.constant()
	most := maxUnrolled
	if len(t.ranks) == 1 {
		most = maxAlone
	}
	if n := outer * inner; !found && isO && isI && n > 1 && n <= most {
		return t.unrolled(around, of, n)
	}
	if s.to.expr == nil {
		s.frame = t.frames[0]
		s.to.expr = t.listed(t.listedRanks(), nest, func(c *goCode) *goNumber { return &of(c).to })
		s.at = s.to.expr
		found = t.slot(nest, of)
	}
	if !found {
		s.slot.expr = t.listed(t.listedSlots(), nest, func(c *goCode) *goNumber { return &of(c).slot })
	}
	return []*segment{s}
}

// found finds where the actions of a segment go and what they set, counting
// the ranks in any way.
func (t *fitter) found(nest []loop, of func(c *goCode) *segment) bool {
	s := of(t.goCode)
	if s.op == ir.Mcast {
		s.frame, s.at, s.to.expr = t.frames[0], lit(0), lit(0)
		return t.slot(nest, of)
	}
	for _, f := range t.frames {
		before := *s
		if !t.destination(f, nest, of) {
			continue
		}
		if t.slot(nest, of) {
			return true
		}
		if before.to.expr != nil {
			*s = before
		}
	}
	return false
}

// destination finds where the actions of a segment go, as a frame counts the
// ranks.
func (t *fitter) destination(f *frame, nest []loop, of func(c *goCode) *segment) bool {
	if f.own == varHost && !t.masters(of) {
		return false
	}
	var bases []base
	if len(t.ranks) > 1 {
		bases = []base{{f.own, f}}
	}
	e := t.searched(nest, bases, f.size, func(c *goCode, i int, _ *env) int { return f.from(of(c).to.values[i]) })
	if e != nil {
		s := of(t.goCode)
		s.frame, s.at, s.to.expr = f, e, f.rank(e)
	}
	return e != nil
}

// masters reports whether all actions of a segment go to the first ranks of
// hosts, or the root.
func (t *fitter) masters(of func(c *goCode) *segment) bool {
	for _, c := range t.codes {
		if slices.ContainsFunc(of(c).to.values, func(r int) bool { return t.master(t.host(r)) != r }) {
			return false
		}
	}
	return true
}

// slot finds which slot the actions of a segment set. That of a signal may
// follow from the rank that it is at.
func (t *fitter) slot(nest []loop, of func(c *goCode) *segment) bool {
	s := of(t.goCode)
	bases := t.ownBases()
	if s.op == ir.Put {
		bases = append(bases, base{varTo, s.frame})
	}
	s.slot.expr = t.searched(nest, bases, 0, func(c *goCode, i int, at *env) int {
		at.vars[varTo] = s.frame.from(of(c).to.values[i])
		return of(c).slot.values[i]
	})
	return s.slot.expr != nil
}

// unrolled finds the numbers of the n actions of a segment one by one.
func (t *fitter) unrolled(around []loop, of func(c *goCode) *segment, n int) []*segment {
	singles := make(map[*goCode][]*segment)
	for _, c := range t.codes {
		s := of(c)
		for i := range n {
			single := &segment{op: s.op, kind: s.kind, outer: one(1), inner: one(1)}
			for at := i; at < len(s.to.values); at += n {
				single.to.values = append(single.to.values, s.to.values[at])
				single.slot.values = append(single.slot.values, s.slot.values[at])
			}
			singles[c] = append(singles[c], single)
		}
	}
	var out []*segment
	for i := range n {
		out = append(out, t.segment(around, func(c *goCode) *segment { return singles[c][i] })...)
	}
	return out
}
