package emit

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// group is consecutive rules that are all repairs, or none, and wait for the
// same slots.
type group struct {
	when  []int // bits, sorted
	rules []*ir.Rule
}

// takeApart turns the program of rank r into code. The schedule must have
// passed checkGo.
func takeApart(s *ir.Schedule, l *layout, r int) *goCode {
	p := &s.Programs[r]
	t := &taker{Schedule: s, layout: l, rank: r, request: p.Requests(), done: make([]bool, 1+s.Chunks+p.Signals)}
	c := &goCode{holds: s.HasMessage() && r == s.Root, signals: one(p.Signals)}
	var done []int
	for _, slot := range p.Done {
		b := bit(s, slot)
		t.done[b] = true
		done = append(done, b)
	}
	slices.Sort(done)
	c.done = t.spans(slices.Compact(done))
	c.families = append(t.families(t.groups(p, false)), t.families(t.groups(p, true))...)
	c.must, c.keeps = one(t.must), t.keeps
	t.effects(c)
	c.recovery = t.recovery(&p.Recovery)
	return c
}

func (t *taker) recovery(r *ir.Recovery) recovery {
	puts := func(ranks []int32) (list []ir.Action) {
		for _, to := range ranks {
			list = append(list, ir.PutTo(ir.Signal(0), int(to)))
		}
		return list
	}
	var report []int32
	if r.Reports {
		report = append(report, r.ReportTo)
	}
	return recovery{
		ask:    t.actions(puts(r.Ask)),
		report: t.actions(puts(report)),
		from:   t.actions(puts(r.ReportFrom)),
		twice:  t.actions(r.Twice),
	}
}

// actions makes a run of actions that belong to no rule.
func (t *taker) actions(list []ir.Action) *repeat {
	return &repeat{times: one(1), segments: t.segments([][]ir.Action{list})}
}

// taker takes a program apart.
type taker struct {
	*ir.Schedule
	layout  *layout
	rank    int
	done    []bool // bit -> the operation waits for it
	request []bool // signal -> it may never come, see ir.Program.Requests
	must    int
	keeps   bool
	at      int // actions so far
	arm     int // repairs so far
	count   int // counters so far
}

func (t *taker) groups(p *ir.Program, repairs bool) []group {
	var out []group
	for i := range p.Rules {
		rule := &p.Rules[i]
		if rule.IsRepair() != repairs || len(rule.When) == 0 {
			continue
		}
		var when []int
		for _, slot := range rule.When {
			when = append(when, bit(t.Schedule, slot))
		}
		slices.Sort(when)
		when = slices.Compact(when)
		if last := len(out) - 1; last >= 0 && slices.Equal(out[last].when, when) {
			out[last].rules = append(out[last].rules, rule)
		} else {
			out = append(out, group{when, []*ir.Rule{rule}})
		}
	}
	return out
}

// kind tells the kind and the index of the slot of a bit.
func (t *taker) kind(b int) (ir.Kind, int) {
	switch {
	case b == 0:
		return ir.KindEnter, 0
	case b <= t.Chunks:
		return ir.KindChunk, b - 1
	}
	return ir.KindSignal, b - 1 - t.Chunks
}

// spans cuts sorted bits where the kind changes or one is missing.
func (t *taker) spans(bits []int) []slotSpan {
	var out []slotSpan
	for i, b := range bits {
		kind, index := t.kind(b)
		if last := len(out) - 1; i > 0 && bits[i-1] == b-1 && out[last].kind == kind {
			out[last].n.values[0]++
		} else {
			out = append(out, slotSpan{kind, one(index), one(1)})
		}
	}
	return out
}

// families makes families of groups that follow each other, as long as the
// slots that each waits for move by equal steps.
func (t *taker) families(groups []group) []*family {
	var out []*family
	for i := 0; i < len(groups); {
		n := 1
		for i+n < len(groups) && sameShape(groups[i], groups[i+n]) && t.moved(groups[i:i+n+1]) {
			n++
		}
		out = append(out, t.family(groups[i:i+n]))
		i += n
	}
	return out
}

// sameShape reports whether the rules of two groups differ in numbers only, and do
// equally many actions.
func sameShape(a, b group) bool {
	return len(a.when) == len(b.when) && slices.EqualFunc(a.rules, b.rules, func(x, y *ir.Rule) bool {
		return x.Unless.Kind() == y.Unless.Kind() && slices.EqualFunc(x.Do, y.Do, func(p, q ir.Action) bool {
			return p.Op == q.Op && p.Slot.Kind() == q.Slot.Kind()
		})
	})
}

// moved reports whether every slot that the last group waits for is of the
// kind of that of the group before, as far from it as that is from the one
// before, and not the same.
func (t *taker) moved(groups []group) bool {
	first, second, last := groups[0], groups[1], groups[len(groups)-1]
	before := groups[len(groups)-2]
	for i := range last.when {
		step := last.when[i] - before.when[i]
		was, _ := t.kind(before.when[i])
		if is, _ := t.kind(last.when[i]); is != was || step == 0 || step != second.when[i]-first.when[i] {
			return false
		}
	}
	return true
}

func (t *taker) family(groups []group) *family {
	g := groups[0]
	f := &family{repair: g.rules[0].IsRepair(), times: one(len(groups)), at: one(t.at), arm: one(t.arm), counter: one(t.count)}
	if len(groups) == 1 {
		f.when = t.spans(g.when)
	}
	for i := range g.when {
		if kind, index := t.kind(g.when[i]); len(groups) > 1 {
			f.when = append(f.when, slotSpan{kind, one(index), one(1)})
			f.step = append(f.step, one(groups[1].when[i]-g.when[i]))
		}
	}
	for len(f.step) < len(f.when) {
		f.step = append(f.step, goNumber{values: []int{1}, free: true})
	}
	must, size := 0, 0
	for _, rule := range g.rules {
		must += t.mustFire(rule)
		size += len(rule.Do)
	}
	f.must, f.size, f.arms = one(must), one(size), one(0)
	f.at.free, f.size.free = f.repair, f.repair
	t.must += must * len(groups)
	t.at += size * len(groups)
	t.count += len(groups)
	if f.repair {
		f.arms = one(len(g.rules))
		t.arm += len(g.rules) * len(groups)
	}
	f.runs = t.repeats(groups)
	return f
}

// mustFire returns 1 for a rule that must fire before the operation retires. A
// rule that waits for a request need not.
func (t *taker) mustFire(rule *ir.Rule) int {
	switch {
	case rule.IsRepair():
		return 0
	case !rule.AwaitsAny(t.request):
		return 1
	}
	t.keeps = t.keeps || slices.ContainsFunc(rule.Do, func(a ir.Action) bool { return a.Slot.Kind() == ir.KindChunk })
	return 0
}

// repeats cuts the rules of each group into runs that differ in numbers only.
func (t *taker) repeats(groups []group) []*repeat {
	rules := groups[0].rules
	if !rules[0].IsRepair() {
		return []*repeat{t.repeat(groups, 0, len(rules))}
	}
	var out []*repeat
	for i := 0; i < len(rules); {
		n := 1
		for i+n < len(rules) && sameShape(group{rules: rules[i : i+1]}, group{rules: rules[i+n : i+n+1]}) {
			n++
		}
		out = append(out, t.repeat(groups, i, n))
		i += n
	}
	return out
}

// repeat makes rules i … i+n-1 of each group a run: of repairs, or of the
// actions of all together.
func (t *taker) repeat(groups []group, i, n int) *repeat {
	first := groups[0].rules[i]
	if !first.IsRepair() {
		var lists [][]ir.Action
		for _, g := range groups {
			var all []ir.Action
			for _, rule := range g.rules[i : i+n] {
				all = append(all, rule.Do...)
			}
			lists = append(lists, all)
		}
		return &repeat{times: one(1), segments: t.segments(lists)}
	}
	var lists [][]ir.Action
	a := &again{kind: first.Unless.Kind(), n: one(len(first.Do))}
	for _, g := range groups {
		for _, rule := range g.rules[i : i+n] {
			lists = append(lists, rule.Do)
			a.unless.values = append(a.unless.values, rule.Unless.Index())
			a.after.values = append(a.after.values, rule.After)
		}
	}
	return &repeat{times: one(n), segments: t.segments(lists), again: a}
}

// segments cuts lists of actions that differ in numbers only, where what they
// do or the host they do it to changes.
func (t *taker) segments(lists [][]ir.Action) []*segment {
	var out []*segment
	first := lists[0]
	for i := 0; i < len(first); {
		n := 1
		for i+n < len(first) && first[i].Op == first[i+n].Op && first[i].Slot.Kind() == first[i+n].Slot.Kind() &&
			t.near(first[i]) == t.near(first[i+n]) {
			n++
		}
		out = append(out, newSegment(lists, i, n))
		i += n
	}
	return out
}

// near reports whether a goes to a rank of the same host, where there are hosts.
func (t *taker) near(a ir.Action) bool {
	return t.layout.hosts > 0 && a.Op == ir.Put && t.layout.host(int(a.To)) == t.layout.host(t.rank)
}

func newSegment(lists [][]ir.Action, i, n int) *segment {
	a := lists[0][i]
	s := &segment{op: a.Op, kind: a.Slot.Kind()}
	blocks := 0
	for k, list := range lists {
		if b := blocksOf(list[i : i+n]); k == 0 || b == blocks {
			blocks = b
		} else {
			blocks = 1
		}
		for _, a := range list[i : i+n] {
			s.slot.values = append(s.slot.values, a.Slot.Index())
			s.to.values = append(s.to.values, int(a.To))
		}
	}
	s.outer, s.inner, s.nested = one(blocks), one(n/blocks), blocks > 1
	return s
}

// blocksOf returns into how many blocks of several actions a list falls, each
// of one slot, or each to one rank; 1 if it does not.
func blocksOf(list []ir.Action) int {
	for _, same := range []func(a, b ir.Action) bool{
		func(a, b ir.Action) bool { return a.Slot == b.Slot },
		func(a, b ir.Action) bool { return a.To == b.To },
	} {
		n := 1
		for n < len(list) && same(list[n-1], list[n]) {
			n++
		}
		if n == 1 || n == len(list) || len(list)%n != 0 {
			continue
		}
		fits := true
		for i := 1; i < len(list); i++ {
			fits = fits && same(list[i-1], list[i]) == (i%n != 0)
		}
		if fits {
			return len(list) / n
		}
	}
	return 1
}
