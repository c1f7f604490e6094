// Package machine executes one rank's program: slots become set, rules count down, actions come
// out.
//
// The machine is pure: it knows no time, does no I/O, starts no goroutine, and allocates nothing
// after it has run its largest plan. So the same machine runs on a real network, on a simulated one
// and in a test that tries every order of events.
package machine

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/ir/numbering"
	"github.com/schedgen/schedgen/ir"
)

// Plan is one rank's program compiled for a [Machine]. It consists of flat arrays that are never
// written after Compile, so any number of machines may share a plan. The arrays are as long as the
// program, however many chunks the operation has.
//
// A rank has the chunks that it wants or holds and those that its program names. Other chunks do
// not exist at the rank. A put of such a chunk is a mistake, which package verify finds. A
// multicast of such a chunk means nothing to the rank. All ranks have all chunks of a barrier,
// which carry only information.
type Plan struct {
	rank    int
	signals int
	values  int
	parts   []int32         // see Parts
	numbers numbering.Slots // numbers of the slots with state in a machine
	held    ir.Chunks       // the chunks that the rank has from the start
	holding []span          // the numbers of those held chunks that have one
	told    int             // the number of chunks of a barrier

	waitersAt []int32 // slot -> its first index in waiters; one longer than the slots
	waiters   []int32 // rules that wait for a slot, by slot
	need      []int32 // rule -> number of slots it waits for
	actionsAt []int32 // rule -> its first index in actions; one longer than the rules
	actions   []ir.Action
	unless    []int32 // rule -> slot, or -1 if the rule is not a repair
	after     []int32 // rule -> multiples of the base timeout
	done      []bool  // slot -> the operation waits for it
	doneCount int
	optional  []bool // rule -> it need not fire: a repair, or a rule that waits for a request
	keeps     bool   // some optional rule sends a chunk
	recovery  ir.Recovery
}

// Compile compiles the program of one rank of a schedule with header h. It returns an error for
// slots, destinations and recovery out of range, and for repairs that may still be wanted when the
// operation is done: the caller's buffer is gone by then. The plan shares the slices of the
// program's recovery.
func Compile(h *ir.Header, p *ir.Program) (*Plan, error) {
	if err := inRange(h, p); err != nil {
		return nil, fmt.Errorf("compile %s, rank %d: %w", h.Name(), p.Rank, err)
	}
	pl := &Plan{
		rank:     p.Rank,
		signals:  p.Signals,
		values:   p.Values,
		held:     h.Held(p.Rank),
		recovery: p.Recovery,
	}
	if !h.HasMessage() {
		pl.told = h.Chunks
	}
	if err := pl.number(h, p); err != nil {
		return nil, fmt.Errorf("compile %s, rank %d: %w", h.Name(), p.Rank, err)
	}
	parts, err := partsOf(h, p)
	if err != nil {
		return nil, fmt.Errorf("compile %s, rank %d: %w", h.Name(), p.Rank, err)
	}
	pl.parts = parts
	pl.compileDone(p.Done)
	pl.compileWaits(p)
	pl.compileActions(p.Rules)
	return pl, nil
}

func inRange(h *ir.Header, p *ir.Program) error {
	if p.Rank < 0 || p.Rank >= h.Ranks {
		return fmt.Errorf("rank outside 0 … %d", h.Ranks-1)
	}
	slot := func(s ir.Slot) error {
		switch {
		case s == ir.Enter,
			s.Kind() == ir.KindChunk && s.Index() < h.Chunks,
			s.Kind() == ir.KindSignal && s.Index() < p.Signals,
			s.Kind() == ir.KindValue && s.Index() < p.Values:
			return nil
		}
		return fmt.Errorf("slot %v out of range", s)
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		for _, s := range r.When {
			if err := slot(s); err != nil {
				return fmt.Errorf("rule %d waits: %w", i, err)
			}
		}
		if r.IsRepair() {
			if err := slot(r.Unless); err != nil {
				return fmt.Errorf("rule %d, unless: %w", i, err)
			}
			if !slices.Contains(p.Done, r.Unless) {
				return fmt.Errorf("rule %d: done does not wait for %v, which ends the repair", i, r.Unless)
			}
		}
		for _, a := range r.Do {
			if err := actionInRange(h, p, a); err != nil {
				return fmt.Errorf("rule %d: %w", i, err)
			}
		}
	}
	for _, s := range p.Done {
		if err := slot(s); err != nil {
			return fmt.Errorf("done: %w", err)
		}
	}
	return ir.ValidateRecovery(h, p)
}

func actionInRange(h *ir.Header, p *ir.Program, a ir.Action) error {
	chunk := a.Slot.Kind() == ir.KindChunk && a.Slot.Index() < h.Chunks
	folds := chunk || a.Slot.Kind() == ir.KindValue && a.Slot.Index() < p.Values ||
		a.Slot.Kind() == ir.KindInput && a.Slot.Index() < h.InputChunks()
	value := a.As.Kind() == ir.KindValue
	switch {
	case a.Op == ir.Mcast && chunk && a.As == ir.None:
		return nil
	case a.Op == ir.Put && a.To >= 0 && int(a.To) < h.Ranks && (a.As == ir.None && (chunk || a.Slot.Kind() == ir.KindSignal) || value && folds):
		return nil
	case a.Op == ir.Fold && folds && (value && a.As.Index() < p.Values || a.As.Kind() == ir.KindChunk && a.As.Index() < h.Chunks):
		return nil
	}
	return fmt.Errorf("action %v %v @%d out of range", a.Op, a.Slot, a.To)
}

// slots returns the number of slots with a number.
func (pl *Plan) slots() int { return pl.numbers.Len() }

// valid reports whether the rank has s. A machine keeps no state of slots that no rule waits for.
func (pl *Plan) valid(s ir.Slot) bool {
	switch i := s.Index(); {
	case pl.numbers.Index(s) >= 0:
		return true
	case s.Kind() == ir.KindChunk:
		return i < pl.told || pl.held.Has(i)
	case s.Kind() == ir.KindSignal:
		return i < pl.signals
	case s.Kind() == ir.KindValue:
		return i < pl.values
	}
	return false
}

func (pl *Plan) slot(i int) ir.Slot { return pl.numbers.At(i) }

func (pl *Plan) compileDone(done []ir.Slot) {
	pl.done = make([]bool, pl.slots())
	for _, s := range done {
		if i := pl.numbers.Index(s); !pl.done[i] {
			pl.done[i] = true
			pl.doneCount++
		}
	}
}

// compileWaits lists, for every slot, the rules that wait for it, in the order of the program: it
// counts first and then fills. A rule that waits for a request may never fire.
func (pl *Plan) compileWaits(p *ir.Program) {
	rules, request := p.Rules, p.Requests()
	pl.need = make([]int32, len(rules))
	pl.optional = make([]bool, len(rules))
	pl.waitersAt = make([]int32, pl.slots()+1)
	last := make([]int32, pl.slots()) // 1 + the last rule found to wait for a slot
	each := func(visit func(rule, slot int)) {
		clear(last)
		for r := range rules {
			for _, s := range rules[r].When {
				if i := pl.numbers.Index(s); last[i] != int32(r)+1 {
					last[i] = int32(r) + 1
					visit(r, i)
				}
			}
		}
	}
	each(func(r, i int) {
		pl.need[r]++
		pl.waitersAt[i+1]++
	})
	for r := range rules {
		pl.optional[r] = rules[r].AwaitsAny(request)
	}
	for i := range pl.slots() {
		pl.waitersAt[i+1] += pl.waitersAt[i]
	}
	pl.waiters = make([]int32, pl.waitersAt[pl.slots()])
	next := append([]int32(nil), pl.waitersAt...)
	each(func(r, i int) {
		pl.waiters[next[i]] = int32(r)
		next[i]++
	})
}

func (pl *Plan) compileActions(rules []ir.Rule) {
	n := 0
	for r := range rules {
		n += len(rules[r].Do)
	}
	pl.actions = make([]ir.Action, 0, n)
	pl.actionsAt = make([]int32, len(rules)+1)
	pl.unless = make([]int32, len(rules))
	pl.after = make([]int32, len(rules))
	for r := range rules {
		rule := &rules[r]
		pl.actions = append(pl.actions, rule.Do...)
		pl.actionsAt[r+1] = int32(len(pl.actions))
		pl.after[r] = int32(rule.After)
		pl.unless[r] = -1
		if rule.IsRepair() {
			pl.unless[r] = int32(pl.numbers.Index(rule.Unless))
			pl.optional[r] = true
			continue
		}
		pl.keeps = pl.keeps || pl.optional[r] && sendsChunk(rule.Do)
	}
}

func sendsChunk(actions []ir.Action) bool {
	for _, a := range actions {
		if a.Slot.Kind() == ir.KindChunk {
			return true
		}
	}
	return false
}

// Outline returns the rank's program without the slots that its rules wait for and without its
// recovery.
func (pl *Plan) Outline() ir.Program {
	p := ir.Program{Rank: pl.rank, Signals: pl.signals, Values: pl.values}
	for r := range int32(pl.Rules()) {
		rule := ir.Rule{Do: pl.Actions(r)}
		if after, repair := pl.Repair(r); repair {
			rule.Unless, rule.After = pl.slot(int(pl.unless[r])), after
		}
		p.Rules = append(p.Rules, rule)
	}
	for i, done := range pl.done {
		if done {
			p.Done = append(p.Done, pl.slot(i))
		}
	}
	return p
}

// Rank returns the rank whose program pl is.
func (pl *Plan) Rank() int { return pl.rank }

// Rests reports whether the rank does nothing, and waits for chunks alone, until one comes: it has no
// signals, values or repairs, and no rule fires by its entry.
func (pl *Plan) Rests() bool {
	var m Machine
	m.Reset(pl)
	do, arm := m.Set(ir.Enter)
	return pl.signals == 0 && pl.values == 0 && len(do) == 0 && len(arm) == 0
}

// Rules returns the number of rules; rules are numbered as in the program.
func (pl *Plan) Rules() int { return len(pl.need) }

// Actions returns the actions of rule, in order. The caller must not modify the slice.
func (pl *Plan) Actions(rule int32) []ir.Action {
	return pl.actions[pl.actionsAt[rule]:pl.actionsAt[rule+1]]
}

// Repair reports whether rule is a repair, and after how many base timeouts it is due.
func (pl *Plan) Repair(rule int32) (after int, ok bool) {
	return int(pl.after[rule]), pl.unless[rule] >= 0
}

// Keeps reports whether other ranks may ask for chunks after the operation is done, so that the
// message must outlive the call.
func (pl *Plan) Keeps() bool { return pl.keeps }

// Recovery returns how the rank recovers lost multicasts, and how it helps other ranks to do so.
// The caller must not modify it.
func (pl *Plan) Recovery() ir.Recovery { return pl.recovery }
