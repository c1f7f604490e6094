package emit

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// goCode is what one rank's program comes to in Go: what each arrival
// triggers, and in what order the actions of all rules lie in one list. Slots
// are numbered as bits: enter, chunks, signals.
type goCode struct {
	signals int
	holds   bool // enter sets all chunks: the rank is the root
	done    []bool
	request []bool // signal -> it may never come, see ir.Program.Requests
	need    []int  // counter -> slots that its rules wait for
	must    int    // rules that must fire
	keeps   bool   // an answer to a request holds a chunk
	enter   effect
	chunk   []stretch
	signal  []stretch
	calls   []call
}

// call adds one action to the list, or makes the last ones a repair.
type call struct {
	fn       callKind
	slot     ir.Slot
	to       int
	after, n int // of a repair
}

type callKind uint8

const (
	callPut callKind = iota
	callMcast
	callAgain // a repair of the last n actions, unless slot is set
)

// effect is what happens when a slot becomes set.
type effect struct {
	done  bool // the operation waits for the slot
	items []trigger
}

// trigger is rules that wait for the same slots, of which one has just been set.
type trigger struct {
	cond condition
	mask uint64
	word int // of mask
	arg  line
	must int
	do   line // first of doN actions
	doN  int
	arm  line // first of armN repairs
	armN int
}

// line is a number that depends on the index of the slot: base + step × index.
type line struct{ base, step int }

func (l line) at(i int) int { return l.base + l.step*i }

// condition tells whether all slots that an trigger waits for are set.
type condition uint8

const (
	always  condition = iota
	partner           // the other slot, bit arg, is set
	masked            // all bits of mask in one word are set
	counted           // counter arg is down to zero
)

// group is rules of one kind, one after the other, that wait for the same
// slots.
type group struct {
	when    []int // bits, sorted
	must    int
	do, doN int
	arm     int
	armN    int
}

// checkGo refuses what no engine executes: slots and ranks out of range, and
// repairs that may still be wanted when the operation is done.
func checkGo(s *ir.Schedule) error {
	for r := range s.Programs {
		p := &s.Programs[r]
		for i := range p.Rules {
			rule := &p.Rules[i]
			if err := checkGoRule(s, p, rule); err != nil {
				return fmt.Errorf("rank %d, rule %d: %w", r, i, err)
			}
		}
		if err := checkGoSlots(s, p, p.Done); err != nil {
			return fmt.Errorf("rank %d, done: %w", r, err)
		}
	}
	return nil
}

func checkGoRule(s *ir.Schedule, p *ir.Program, rule *ir.Rule) error {
	if err := checkGoSlots(s, p, rule.When); err != nil {
		return err
	}
	if rule.IsRepair() && !slices.Contains(p.Done, rule.Unless) {
		return fmt.Errorf("done does not wait for %v, which ends the repair", rule.Unless)
	}
	for _, a := range rule.Do {
		chunk := a.Slot.Kind() == ir.KindChunk && a.Slot.Index() < s.Chunks
		put := a.Op == ir.Put && a.To >= 0 && int(a.To) < s.Ranks && (chunk || a.Slot.Kind() == ir.KindSignal)
		if !put && !(a.Op == ir.Mcast && chunk) {
			return fmt.Errorf("action %v %v @%d out of range", a.Op, a.Slot, a.To)
		}
	}
	return nil
}

func checkGoSlots(s *ir.Schedule, p *ir.Program, list []ir.Slot) error {
	for _, slot := range list {
		if bit(s, slot) < 0 || bit(s, slot) > s.Chunks+p.Signals {
			return fmt.Errorf("slot %v out of range", slot)
		}
	}
	return nil
}

// bit numbers the slots of a rank; -1 for what is none.
func bit(s *ir.Schedule, slot ir.Slot) int {
	switch {
	case slot.Kind() == ir.KindEnter:
		return 0
	case slot.Kind() == ir.KindChunk && slot.Index() < s.Chunks:
		return 1 + slot.Index()
	case slot.Kind() == ir.KindSignal:
		return 1 + s.Chunks + slot.Index()
	}
	return -1
}

// takeApart turns the program of rank r into code. The schedule must have
// passed checkGo.
func takeApart(s *ir.Schedule, r int) *goCode {
	p := &s.Programs[r]
	c := &goCode{
		signals: p.Signals,
		holds:   s.Collective != "barrier" && r == s.Root,
		done:    make([]bool, 1+s.Chunks+p.Signals),
		request: p.Requests(),
	}
	for _, slot := range p.Done {
		c.done[bit(s, slot)] = true
	}
	plain, actions := c.gather(s, p, false, 0)
	repairs, _ := c.gather(s, p, true, actions)
	effects := make([]effect, len(c.done))
	for b := range effects {
		effects[b].done = c.done[b]
	}
	for _, g := range append(plain, repairs...) {
		c.wait(effects, g)
	}
	c.enter = effects[0]
	c.chunk = stretches(effects[1 : 1+s.Chunks])
	c.signal = stretches(effects[1+s.Chunks:])
	return c
}

// gather lays out the actions of the rules that are repairs or are not, from
// place at on, and groups the rules. It returns the place after the last.
func (c *goCode) gather(s *ir.Schedule, p *ir.Program, repairs bool, at int) ([]group, int) {
	var groups []group
	number := 0
	for i := range p.Rules {
		rule := &p.Rules[i]
		if rule.IsRepair() != repairs {
			continue
		}
		g := c.groupOf(s, rule)
		for _, a := range rule.Do {
			c.calls = append(c.calls, callOf(a))
		}
		if g.do = at; repairs {
			c.calls = append(c.calls, call{fn: callAgain, slot: rule.Unless, after: rule.After, n: len(rule.Do)})
			g.arm, g.armN, g.doN = number, 1, 0
		}
		at += len(rule.Do)
		number++
		if last := len(groups) - 1; last >= 0 && slices.Equal(groups[last].when, g.when) {
			groups[last].doN += g.doN
			groups[last].armN += g.armN
			groups[last].must += g.must
		} else {
			groups = append(groups, g)
		}
	}
	return groups, at
}

// groupOf returns a group of one rule, with its part of what is summed up.
func (c *goCode) groupOf(s *ir.Schedule, rule *ir.Rule) group {
	g := group{doN: len(rule.Do)}
	for _, slot := range rule.When {
		g.when = append(g.when, bit(s, slot))
	}
	slices.Sort(g.when)
	g.when = slices.Compact(g.when)
	switch {
	case rule.IsRepair():
	case !rule.AwaitsAny(c.request):
		g.must = 1
		c.must++
	default:
		c.keeps = c.keeps || slices.ContainsFunc(rule.Do, func(a ir.Action) bool { return a.Slot.Kind() == ir.KindChunk })
	}
	return g
}

func callOf(a ir.Action) call {
	if a.Op == ir.Mcast {
		return call{fn: callMcast, slot: a.Slot}
	}
	return call{fn: callPut, slot: a.Slot, to: int(a.To)}
}

// wait adds g to the effects of the slots that it waits for.
func (c *goCode) wait(effects []effect, g group) {
	it := trigger{must: g.must, do: line{base: g.do}, doN: g.doN, arm: line{base: g.arm}, armN: g.armN}
	switch n := len(g.when); {
	case n == 0:
		return
	case n == 1:
	case n == 2:
		it.cond = partner
	case g.when[0]/64 == g.when[n-1]/64:
		it.cond, it.word = masked, g.when[0]/64
		for _, b := range g.when {
			it.mask |= 1 << (b % 64)
		}
	default:
		it.cond, it.arg = counted, line{base: len(c.need)}
		c.need = append(c.need, n)
	}
	for i, b := range g.when {
		if it.cond == partner {
			it.arg = line{base: g.when[1-i]}
		}
		effects[b].items = append(effects[b].items, it)
	}
}
