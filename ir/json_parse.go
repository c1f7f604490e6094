package ir

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ParseJSON reads the JSON form schedgen/1. It is strict: an unknown, missing
// or duplicate field, a value of another type or out of range, a rank without
// a program or with two and anything after the document are errors. The
// members of an object and the programs may come in any order. It reads in a
// stream and holds memory in proportion to what it has read, whatever counts
// the document claims. The error is a [*ParseError] with the path, line, column
// and byte of the first fault; a fault that only the whole document shows is
// placed at the start of the program or the field it is in.
//
// What it accepts is in range ([Validate]); whether it is a correct schedule is
// for package verify to say.
func ParseJSON(r io.Reader) (*Schedule, error) {
	p := jsonReader{jsonScanner: jsonScanner{source: newSource(r)}}
	p.path = p.where
	p.document()
	p.here()
	p.end("the document")
	p.checkEnd()
	if !p.ok() {
		return nil, p.err
	}
	return &p.s, nil
}

type jsonReader struct {
	jsonScanner
	s      Schedule
	fields [len(topFields)]mark // where the values of the header are
	starts []mark               // where the programs are, in the order of the document
	ranks  []int32              // the rank of each, in the order of the document
	seen   []uint64             // bit set of the ranks that have a program

	// Bounds for what is being read: the limits until the document has named
	// its own numbers.
	rankBound, chunkBound, signalBound int

	slots   arena[Slot]
	actions arena[Action]
	rules   arena[Rule]
	// What is being read, before its length is known.
	slotBuf   []Slot
	actionBuf []Action
	ruleBuf   []Rule
}

var (
	topFields = [...]string{
		"format", "collective", "algorithm", "ranks", "root", "chunks", "params", "programs",
	}
	programFields = []string{"rank", "signals", "rules", "done"}
	ruleFields    = []string{"when", "unless", "after", "do"}
	actionFields  = []string{"op", "slot", "to"}
)

// Bits of the fields, for what is required and what has been seen.
const (
	allTop      = 1<<len(topFields) - 1
	headerTop   = allTop >> 1
	allProgram  = 1<<4 - 1
	plainRule   = 1<<0 | 1<<3
	repairRule  = 1<<4 - 1
	mcastAction = 1<<0 | 1<<1
	putAction   = 1<<3 - 1
)

func (p *jsonReader) document() {
	p.rankBound, p.chunkBound = MaxRanks, MaxChunks
	have := uint(0)
	p.object(topFields[:], allTop, func(i int) {
		p.fields[i] = p.here()
		p.topField(i)
		have |= 1 << i
		if p.ok() && have&headerTop == headerTop && 1<<i&headerTop != 0 {
			p.checkHeader()
		}
	})
}

func (p *jsonReader) topField(i int) {
	h := &p.s.Header
	switch topFields[i] {
	case "format":
		if v := p.string("a string"); p.ok() && string(v) != Format {
			p.failAt(p.fields[i], "unknown format %s; known is %s", quote(v), Format)
		}
	case "collective":
		h.Collective = string(p.string("a string"))
	case "algorithm":
		h.Algorithm = string(p.string("a string"))
	case "ranks":
		h.Ranks = p.int(1, MaxRanks)
		p.rankBound = h.Ranks
	case "root":
		h.Root = p.int(0, p.rankBound-1)
	case "chunks":
		h.Chunks = p.int(0, MaxChunks)
		p.chunkBound = h.Chunks
	case "params":
		p.params()
	case "programs":
		p.array(p.program)
	}
}

// checkHeader checks the header once all of its fields are known.
func (p *jsonReader) checkHeader() {
	f := checkHeader(&p.s.Header)
	if f == nil {
		return
	}
	field, _, _ := strings.Cut(f.field, ".")
	p.failPath(p.fields[slices.Index(topFields[:], field)], f.field, f.msg)
}

// failPath fails at another place than the one being read.
func (p *jsonReader) failPath(m mark, path, msg string) {
	if p.ok() {
		p.steps = append(p.steps[:0], step{name: path})
		p.failAt(m, "%s", msg)
	}
}

func (p *jsonReader) params() {
	p.open('{', "an object")
	for n := 0; p.ok() && p.more(n, '}'); n++ {
		m := p.here()
		name := string(p.string("the name of a parameter"))
		p.colon()
		p.push(name, 0)
		if p.ok() && !isParam(name) {
			p.failAt(m, "%s is no name of a parameter", quote([]byte(name)))
		}
		if n == MaxParams {
			p.failAt(m, "more than %d parameters", MaxParams)
		}
		i, twice := slices.BinarySearchFunc(p.s.Params, name, func(a Param, b string) int {
			return cmp.Compare(a.Name, b)
		})
		if twice {
			p.failAt(m, "duplicate field %q", name)
		}
		p.s.Params = slices.Insert(p.s.Params, i, Param{Name: name, Value: p.int(0, MaxIndex)})
		if p.ok() {
			p.pop()
		}
	}
}

func (p *jsonReader) program(int) {
	g := Program{}
	start := p.here()
	p.signalBound = MaxSignals
	p.ruleBuf = p.ruleBuf[:0]
	p.object(programFields, allProgram, func(i int) {
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
			g.Done = p.slotList()
		}
	})
	p.s.Programs = append(p.s.Programs, g)
	p.starts = append(p.starts, start)
	p.ranks = append(p.ranks, int32(g.Rank))
}

// rank reads the rank of a program and checks that it is the rank's first.
func (p *jsonReader) rank() int {
	m := p.here()
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
			r.When = p.atLeastOne(p.slotList())
		case "unless":
			r.Unless = p.slot(p.signalBound)
		case "after":
			r.After = p.int(0, MaxAfter)
		case "do":
			r.Do = p.actionList()
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

func (p *jsonReader) slotList() []Slot {
	p.slotBuf = p.slotBuf[:0]
	p.array(func(int) { p.slotBuf = append(p.slotBuf, p.slot(p.signalBound)) })
	return p.slots.copyOf(p.slotBuf)
}

// slot reads a slot of a rank with the given number of signals.
func (p *jsonReader) slot(signals int) Slot {
	m := p.here()
	text := p.string("a slot as a string")
	if !p.ok() {
		return None
	}
	s, ok := parseSlot(text)
	switch {
	case !ok:
		p.failAt(m, `%s is no slot ("enter", "c0" …, "s0" …)`, quote(text))
	case s.Kind() == KindChunk && s.Index() >= p.chunkBound:
		p.failAt(m, "%s: the message has %d chunks", s, p.chunkBound)
	case s.Kind() == KindSignal && s.Index() >= signals:
		p.failAt(m, "%s: the rank has %d signals", s, signals)
	}
	return s
}

// parseSlot returns the slot that text spells canonically.
func parseSlot(text []byte) (Slot, bool) {
	if string(text) == "enter" {
		return Enter, true
	}
	if len(text) < 2 || text[0] != 'c' && text[0] != 's' {
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
	if text[0] == 'c' {
		return Chunk(v), true
	}
	return Signal(v), true
}

func (p *jsonReader) actionList() []Action {
	p.actionBuf = p.actionBuf[:0]
	p.array(p.action)
	if len(p.actionBuf) == 0 {
		p.failAt(p.mark(), "expected at least one action")
	}
	return p.actions.copyOf(p.actionBuf)
}

func (p *jsonReader) action(int) {
	a, start := Action{}, p.here()
	seen := p.object(actionFields, mcastAction, func(i int) {
		switch actionFields[i] {
		case "op":
			a.Op = p.op()
		case "slot":
			a.Slot = p.slot(MaxSignals)
		case "to":
			a.To = int32(p.int(0, p.rankBound-1))
		}
	})
	switch {
	case a.Op == Put && a.Slot == Enter:
		p.failAt(start, "enter cannot be put")
	case a.Op == Put:
		p.require(actionFields, putAction, seen)
	case a.Op == Mcast && a.Slot.Kind() != KindChunk:
		p.failAt(start, "%s: only a chunk can be multicast", a.Slot)
	case a.Op == Mcast && seen != mcastAction:
		p.failAt(start, `field "to" in a multicast`)
	}
	p.actionBuf = append(p.actionBuf, a)
}

func (p *jsonReader) op() Op {
	m := p.here()
	switch text := p.string("a string"); string(text) {
	case "put":
		return Put
	case "mcast":
		return Mcast
	default:
		p.failAt(m, "unknown operation %s; known are put, mcast", quote(text))
	}
	return 0
}

// checkEnd sorts the programs and checks what only the whole document shows.
func (p *jsonReader) checkEnd() {
	if !p.ok() {
		return
	}
	byRank := func(a, b Program) int { return cmp.Compare(a.Rank, b.Rank) }
	if !slices.IsSortedFunc(p.s.Programs, byRank) {
		slices.SortFunc(p.s.Programs, byRank)
	}
	if len(p.s.Programs) < p.s.Ranks {
		p.failPath(p.fields[len(topFields)-1], "programs", "missing "+p.missing())
		return
	}
	if f := check(&p.s); f != nil {
		p.fault(f)
	}
}

// fault fails with what check has found. Its rank is a position in the sorted
// programs.
func (p *jsonReader) fault(f *fault) {
	if f.rank < 0 {
		p.failPath(p.fields[len(topFields)-1], f.field, f.msg)
		return
	}
	i := slices.Index(p.ranks, int32(p.s.Programs[f.rank].Rank))
	p.failPath(p.starts[i], f.path(i), f.msg)
}

// missing names the ranks without a program, the first few of them.
func (p *jsonReader) missing() string {
	const few = 5
	var names []string
	next := 0
	for i := 0; next < p.s.Ranks && len(names) <= few; next++ {
		if i < len(p.s.Programs) && p.s.Programs[i].Rank == next {
			i++
			continue
		}
		names = append(names, fmt.Sprint(next))
	}
	if len(names) > few {
		names = append(names[:few], "…")
	}
	return fmt.Sprintf("programs (%d for %d ranks): of rank %s",
		len(p.s.Programs), p.s.Ranks, strings.Join(names, ", "))
}
