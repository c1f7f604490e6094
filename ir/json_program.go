package ir

import "slices"

var (
	programFields = []string{"rank", "signals", "rules", "done", "ask", "report", "twice", "values"}
	ruleFields    = []string{"when", "unless", "after", "do"}
	actionFields  = []string{"op", "slot", "to", "slots", "as", "of"}
	reportFields  = []string{"to", "from"}
)

// Bits of the fields that are required or have been seen.
const (
	allProgram    = 1<<4 - 1
	plainRule     = 1<<0 | 1<<3
	repairRule    = 1<<4 - 1
	mcastAction   = 1<<0 | 1<<1
	putAction     = 1<<3 - 1
	messageAction = 1<<0 | 1<<2 | 1<<3
	renamedAction = messageAction | 1<<4
	foldAction    = 1<<0 | 1<<1 | 1<<5
)

func (p *jsonReader) program(int) {
	g := Program{}
	start := p.nextValue()
	p.signalBound, p.valueBound = MaxSignals, MaxValues
	p.ruleBuf = p.ruleBuf[:0]
	seen := p.object(programFields, allProgram, func(i int) {
		switch programFields[i] {
		case "rank":
			g.Rank = p.rank()
		case "signals":
			g.Signals = p.int(0, MaxSignals)
			p.signalBound = g.Signals
		case "rules":
			p.array(p.rule)
			g.Rules = p.rules.copyOf(p.ruleBuf)
		case "done":
			g.Done = p.awaitedList()
		case "values":
			g.Values = p.int(0, MaxValues)
			p.valueBound = g.Values
		case "ask":
			g.Ask = p.peerList(MaxAsk)
		case "report":
			p.object(reportFields, 0, func(i int) {
				if reportFields[i] == "from" {
					g.ReportFrom = p.peerList(p.rankBound)
				} else {
					g.Reports, g.ReportTo = true, p.peer()
				}
			})
		case "twice":
			g.Twice = p.actionList()
		}
	})
	if first := &p.values[seen>>slices.Index(programFields, "values")&1]; *first == (mark{}) {
		*first = start
	}
	p.s.Programs = append(p.s.Programs, g)
	p.starts = append(p.starts, start)
	p.ranks = append(p.ranks, int32(g.Rank))
}

// rank reads the rank of a program and checks that the rank has no program yet.
func (p *jsonReader) rank() int {
	m := p.nextValue()
	r := p.int(0, p.rankBound-1)
	if !p.ok() {
		return 0
	}
	for len(p.seen) <= r/64 {
		p.seen = append(p.seen, 0)
	}
	if p.seen[r/64]&(1<<(r%64)) != 0 {
		first := slices.Index(p.ranks, int32(r))
		p.failAt(m, "duplicate program of rank %d, the first is programs[%d]", r, first)
	}
	p.seen[r/64] |= 1 << (r % 64)
	return r
}

func (p *jsonReader) rule(int) {
	r := Rule{}
	seen := p.object(ruleFields, plainRule, func(i int) {
		switch ruleFields[i] {
		case "when":
			r.When = p.atLeastOne(p.awaitedList())
		case "unless":
			r.Unless = p.awaited()
		case "after":
			r.After = p.int(0, MaxAfter)
		case "do":
			if r.Do = p.actionList(); r.Do == nil {
				p.failAt(p.mark(), "expected at least one action")
			}
		}
	})
	if seen != plainRule {
		p.require(ruleFields, repairRule, seen)
	}
	p.ruleBuf = append(p.ruleBuf, r)
}

func (p *jsonReader) atLeastOne(slots []Slot) []Slot {
	if len(slots) == 0 {
		p.failAt(p.mark(), "expected at least one slot")
	}
	return slots
}

// awaitedList reads slots for which a rule or done may wait.
func (p *jsonReader) awaitedList() []Slot {
	p.slotBuf = p.slotBuf[:0]
	p.array(func(int) { p.slotBuf = append(p.slotBuf, p.awaited()) })
	return p.slots.copyOf(p.slotBuf)
}

// awaited reads a slot for which a rule or done may wait.
func (p *jsonReader) awaited() Slot {
	m := p.nextValue()
	s := p.slot(p.signalBound, p.valueBound)
	if p.ok() && s.Kind() == KindInput {
		p.failAt(m, "%v: a contribution is there from enter on, so no rule waits for it", s)
	}
	return s
}

// slotList reads slots of a rank that has the given number of partial results.
func (p *jsonReader) slotList(values int) []Slot {
	p.slotBuf = p.slotBuf[:0]
	p.array(func(int) { p.slotBuf = append(p.slotBuf, p.slot(MaxSignals, values)) })
	return p.slots.copyOf(p.slotBuf)
}

// slot reads a slot of a rank with the given numbers of signals and partial results.
func (p *jsonReader) slot(signals, values int) Slot {
	m := p.nextValue()
	text := p.string("a slot as a string")
	if !p.ok() {
		return None
	}
	s, ok := ParseSlot(text)
	switch {
	case !ok:
		p.failAt(m, `%s is not a slot ("enter", "c0" …, "s0" …, "v0" …, "x0" …)`, quote(text))
	case s.Kind() == KindChunk && s.Index() >= p.chunkBound:
		p.failAt(m, "%s: the message has %d chunks", s, p.chunkBound)
	case s.Kind() == KindSignal && s.Index() >= signals:
		p.failAt(m, "%s: the rank has %d signals", s, signals)
	case s.Kind() == KindValue && s.Index() >= values:
		p.failAt(m, "%s: the rank has %d partial results", s, values)
	}
	return s
}

// ParseSlot returns the slot with the canonical spelling text, as [Slot.String] returns it. It
// returns false if there is none.
func ParseSlot(text []byte) (Slot, bool) {
	if string(text) == "enter" {
		return Enter, true
	}
	if len(text) < 2 {
		return None, false
	}
	digits, v := text[1:], 0
	for _, c := range digits {
		if !isDigit(c) {
			return None, false
		}
		v = min(v*10+int(c-'0'), MaxIndex+1)
	}
	if v > MaxIndex || len(digits) > 1 && digits[0] == '0' {
		return None, false
	}
	switch text[0] {
	case 'c':
		return Chunk(v), true
	case 's':
		return Signal(v), true
	case 'v':
		return Value(v), true
	case 'x':
		return Input(v), true
	}
	return None, false
}

func (p *jsonReader) actionList() []Action {
	p.actionBuf = p.actionBuf[:0]
	p.array(p.message)
	return p.actions.copyOf(p.actionBuf)
}

// message reads a multicast, a fold, or the puts of one message, and appends its actions.
func (p *jsonReader) message(int) {
	a, start := Action{}, p.nextValue()
	var slots, as, of []Slot
	seen := p.object(actionFields, 1<<0, func(i int) {
		switch actionFields[i] {
		case "op":
			a.Op = p.op()
		case "slot":
			a.Slot = p.slot(MaxSignals, MaxValues)
		case "to":
			a.To = p.peer()
		case "slots":
			slots = p.slotList(p.valueBound)
		case "as":
			as = p.slotList(MaxValues)
		case "of":
			of = p.slotList(p.valueBound)
		}
	})
	first := len(p.actionBuf)
	switch {
	case !p.ok():
	case a.Op == Mcast && seen != mcastAction:
		p.failAt(start, `a multicast has the fields "op" and "slot"`)
	case a.Op == Mcast && a.Slot.Kind() != KindChunk:
		p.failAt(start, "%s: only a chunk can be multicast", a.Slot)
	case a.Op == Fold && seen != foldAction:
		p.failAt(start, `a fold has the fields "op", "slot" and "of"`)
	case a.Op == Fold && len(of) == 0:
		p.failAt(start, "a fold has at least one operand")
	case a.Op == Fold:
		p.actionBuf = append(p.actionBuf, FoldOf(a.Slot, of...)...)
	case a.Op == Put && seen != putAction && seen != messageAction && seen != renamedAction:
		p.failAt(start, `a put has the fields "op", "slot" and "to", or "op", "slots", "to" and, if need be, "as"`)
	case a.Op == Put && seen == putAction && a.Slot == Enter:
		p.failAt(start, "enter cannot be put")
	case a.Op == Mcast, seen == putAction:
		p.actionBuf = append(p.actionBuf, a)
	case seen == messageAction && len(slots) < 2:
		p.failAt(start, "slots has at least two slots; one that keeps its name is written as slot")
	case seen == renamedAction && len(as) != len(slots):
		p.failAt(start, "as has %d slots for %d", len(as), len(slots))
	default:
		p.actionBuf = append(p.actionBuf, PutAll(int(a.To), slots...)...)
		for i, name := range as {
			if a := &p.actionBuf[first+i]; name != a.Slot || name.Kind() != KindChunk {
				a.As = name
			}
		}
		if seen == renamedAction && !renames(p.actionBuf[first:]) {
			p.failAt(start, "as gives no slot another name")
		}
	}
}

func (p *jsonReader) op() Op {
	m := p.nextValue()
	switch text := p.string("a string"); string(text) {
	case "put":
		return Put
	case "mcast":
		return Mcast
	case "fold":
		return Fold
	default:
		p.failAt(m, "unknown operation %s; known are put, mcast, fold", quote(text))
	}
	return 0
}

// peerList reads at most most ranks.
func (p *jsonReader) peerList(most int) []int32 {
	p.peerBuf = p.peerBuf[:0]
	p.array(func(i int) {
		if i == most {
			p.failAt(p.nextValue(), "more than %d ranks", most)
		}
		p.peerBuf = append(p.peerBuf, p.peer())
	})
	return p.peers.copyOf(p.peerBuf)
}

// peer reads the number of a rank.
func (p *jsonReader) peer() int32 { return int32(p.int(0, p.rankBound-1)) }
