package verify

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// series is the slots first, first+step … of one kind, n of them.
type series struct {
	first ir.Slot
	step  int32 // positive
	n     int32
}

// takes reports whether slot x can follow the slots of s.
func (s *series) takes(x ir.Slot) bool {
	if s.n == 1 {
		return x > s.first && x.Kind() == s.first.Kind()
	}
	return x == s.first+ir.Slot(s.step)*ir.Slot(s.n)
}

// add adds a slot that s takes.
func (s *series) add(x ir.Slot) {
	if s.n == 1 {
		s.step = int32(x - s.first)
	}
	s.n++
}

func seriesOf(x ir.Slot) series { return series{x, 1, 1} }

// last returns the last slot.
func (s *series) last() ir.Slot { return s.first + ir.Slot(s.step)*ir.Slot(s.n-1) }

// dense reports whether the slots have no gaps.
func (s *series) dense() bool { return s.step == 1 || s.n == 1 }

// weight returns into how many intervals s cuts the slots of a rank at most.
func (s *series) weight() int {
	if s.dense() || s.first.Kind() == ir.KindInput {
		return 1
	}
	return int(min(s.n, s.step))
}

// packed is a program in which runs of slots and actions are series.
type packed struct {
	signals, values int
	done            []series
	sole            []soleReads
	rules           []packedRule
	cost            Cost // what its puts add to the cost
	weight          int  // intervals into which its series cut the slots of ranks, at most
}

// soleReads are results in done that a rank folds its contribution to in only one rule.
type soleReads struct {
	chunks series
	rule   int32
}

type packedRule struct {
	when []series
	do   []packedDeed
}

// packedDeed is n puts to one rank, or n folds of equally many operands. Put or fold i uses slot i
// of each series.
type packedDeed struct {
	to int32  // the destination of puts, folds for folds
	as series // what they set
	of []series
}

// packer packs the programs of ranks, one after the other.
type packer struct {
	h      *ir.Header
	folds  bool
	inputs int
	reads  []int32   // by part: how many actions of the program read the contribution
	rule   int32     // the rule that is packed
	reader []int32   // by part: the last rule that reads the contribution
	dup    []ir.Slot // scratch
	waited []series  // scratch
	did    []packedDeed
	series slab[series]
	acts   slab[packedDeed]
}

// slab makes short lists, many in one piece of memory.
type slab[T any] struct{ free []T }

// take returns a list of n zero values.
func (s *slab[T]) take(n int) []T {
	if n > len(s.free) {
		s.free = make([]T, max(n, 1<<10))
	}
	list := s.free[:n:n]
	s.free = s.free[n:]
	return list
}

// keep returns a copy of a list.
func (s *slab[T]) keep(list []T) []T {
	kept := s.take(len(list))
	copy(kept, list)
	return kept
}

// one returns a list of one value.
func (s *slab[T]) one(v T) []T {
	list := s.take(1)
	list[0] = v
	return list
}

func newPacker(h *ir.Header) *packer {
	return &packer{h: h, folds: h.Folds(), inputs: h.InputChunks(), reads: make([]int32, h.InputChunks()), reader: make([]int32, h.InputChunks())}
}

// pack packs the program of a rank. ok is false unless the program only puts and folds, all its
// slots are in range at the rank, and it reads each part of its contribution at most once if a
// result takes the part's place. Then input and output may share memory: see the check in-place.
func (k *packer) pack(rank int, p *ir.Program) (c packed, ok bool) {
	c.signals, c.values = p.Signals, p.Values
	if p.Rank != rank || !p.Recovery.IsNone() || c.signals < 0 || c.signals > ir.MaxSignals || c.values < 0 || c.values > ir.MaxValues {
		return c, false
	}
	clear(k.reads)
	if c.done, ok = k.waits(&c, p.Done); !ok {
		return c, false
	}
	c.rules = make([]packedRule, len(p.Rules))
	for i := range p.Rules {
		r := &p.Rules[i]
		k.rule = int32(i)
		if r.IsRepair() || r.After != 0 || len(r.When) == 0 || len(r.Do) == 0 {
			return c, false
		}
		if c.rules[i].when, ok = k.waits(&c, r.When); !ok {
			return c, false
		}
		if c.rules[i].do, ok = k.deeds(&c, rank, r.Do); !ok {
			return c, false
		}
	}
	if k.folds {
		for part := range k.h.Wanted(rank).All() {
			if k.reads[part] > 1 {
				return c, false
			}
		}
		k.findSole(&c)
	}
	return c, true
}

// findSole finds the results in done to whose parts of the contribution only one rule refers.
func (k *packer) findSole(c *packed) {
	for _, s := range c.done {
		if s.first.Kind() != ir.KindChunk {
			continue
		}
		for i := range s.n {
			chunk := s.first + ir.Slot(i*s.step)
			if k.reads[chunk.Index()] != 1 {
				continue
			}
			rule := k.reader[chunk.Index()]
			if n := len(c.sole); n > 0 && c.sole[n-1].rule == rule && c.sole[n-1].chunks.takes(chunk) {
				c.sole[n-1].chunks.add(chunk)
			} else {
				c.sole = append(c.sole, soleReads{seriesOf(chunk), rule})
			}
		}
	}
	for i := range c.sole {
		c.weight += c.sole[i].chunks.weight()
	}
}

// waits packs a list of slots for which a rank waits.
func (k *packer) waits(c *packed, slots []ir.Slot) ([]series, bool) {
	all := k.waited[:0]
	for _, x := range slots {
		if n := len(all); n > 0 && all[n-1].takes(x) {
			all[n-1].add(x)
		} else {
			all = append(all, seriesOf(x))
		}
	}
	for i := range all {
		if !k.has(c, &all[i]) || all[i].first.Kind() == ir.KindInput {
			return nil, false
		}
	}
	k.waited = all
	return k.series.keep(all), true
}

// has reports whether a rank has the slots of a series, and adds its weight.
func (k *packer) has(c *packed, s *series) bool {
	c.weight += s.weight()
	end, last := 0, s.last()
	switch s.first.Kind() {
	case ir.KindEnter:
		return s.n == 1 && s.first == ir.Enter
	case ir.KindChunk:
		end = k.h.Chunks
	case ir.KindSignal:
		end = c.signals
	case ir.KindValue:
		end = c.values
	case ir.KindInput:
		end = k.inputs
	}
	return last.Kind() == s.first.Kind() && last.Index() < end
}

// deeds packs the actions of a rule.
func (k *packer) deeds(c *packed, rank int, do []ir.Action) ([]packedDeed, bool) {
	deeds := k.did[:0]
	for len(do) > 0 {
		message := ir.MessageOf(do)
		do = do[len(message):]
		switch {
		case message[0].Joins:
			return nil, false
		case message[0].Op == ir.Put && int(message[0].To) != rank && k.puts(c, &deeds, message):
		case message[0].Op == ir.Fold && k.foldsOne(&deeds, message):
		default:
			return nil, false
		}
	}
	for i := range deeds {
		d := &deeds[i]
		for j := range d.of {
			if d.of[j].first.Kind() != ir.KindSignal && !k.has(c, &d.of[j]) {
				return nil, false
			}
		}
		if d.to == folds && !k.has(c, &d.as) {
			return nil, false
		}
		c.weight += d.as.weight()
	}
	k.did = deeds
	return k.acts.keep(deeds), true
}

// puts packs the puts of a message. It does not know whether the destination has their slots.
func (k *packer) puts(c *packed, deeds *[]packedDeed, message []ir.Action) bool {
	to := message[0].To
	if to < 0 || int(to) >= k.h.Ranks {
		return false
	}
	pieces := 1
	for i := range message {
		a := &message[i]
		kind := a.Slot.Kind()
		switch {
		case a.Op != ir.Put || a.To != to:
			return false
		case kind == ir.KindSignal && len(message) == 1, kind == ir.KindChunk:
			if a.As != ir.None {
				return false
			}
		case kind == ir.KindInput, kind == ir.KindValue:
			if !k.folds || a.As.Kind() != ir.KindValue {
				return false
			}
			if kind == ir.KindInput && !k.read(a.Slot) {
				return false
			}
		default:
			return false
		}
		if n := len(*deeds); n > 0 {
			d := &(*deeds)[n-1]
			if d.to == to && d.of[0].takes(a.Slot) && d.as.takes(a.Sets()) {
				d.of[0].add(a.Slot)
				d.as.add(a.Sets())
				continue
			}
		}
		if i > 0 {
			pieces++
		}
		*deeds = append(*deeds, packedDeed{to, seriesOf(a.Sets()), k.series.one(seriesOf(a.Slot))})
	}
	if message[0].Slot.Kind() == ir.KindSignal {
		c.cost.Signals++
	} else {
		c.cost.Puts++
		c.cost.Chunks += len(message)
	}
	return pieces == 1 || k.distinct(message, func(a *ir.Action) ir.Slot { return a.Slot }) &&
		k.distinct(message, func(a *ir.Action) ir.Slot { return a.Sets() })
}

// read notes that the program reads a part of the contribution.
func (k *packer) read(x ir.Slot) bool {
	if x.Index() >= k.inputs {
		return false
	}
	k.reads[x.Index()]++
	k.reader[x.Index()] = k.rule
	return true
}

// distinct reports whether all actions have different slots.
func (k *packer) distinct(of []ir.Action, slot func(*ir.Action) ir.Slot) bool {
	k.dup = k.dup[:0]
	for i := range of {
		k.dup = append(k.dup, slot(&of[i]))
	}
	slices.Sort(k.dup)
	return len(slices.Compact(k.dup)) == len(of)
}

// foldsOne packs a fold.
func (k *packer) foldsOne(deeds *[]packedDeed, operands []ir.Action) bool {
	made := operands[0].As
	if !k.folds || made.Kind() != ir.KindChunk && made.Kind() != ir.KindValue {
		return false
	}
	var d *packedDeed
	if n := len(*deeds); n > 0 && (*deeds)[n-1].to == folds && len((*deeds)[n-1].of) == len(operands) && (*deeds)[n-1].as.takes(made) {
		d = &(*deeds)[n-1]
	}
	for i := range operands {
		a := &operands[i]
		if a.Op != ir.Fold || a.As != made || a.To != 0 || a.Slot == made {
			return false
		}
		switch a.Slot.Kind() {
		case ir.KindInput:
			if !k.read(a.Slot) {
				return false
			}
		case ir.KindChunk, ir.KindValue:
		default:
			return false
		}
		if d != nil && !d.of[i].takes(a.Slot) {
			d = nil
		}
	}
	if d == nil {
		*deeds = append(*deeds, packedDeed{folds, seriesOf(made), k.series.take(len(operands))})
		d = &(*deeds)[len(*deeds)-1]
		for i := range operands {
			d.of[i] = seriesOf(operands[i].Slot)
		}
		return true
	}
	d.as.add(made)
	for i := range operands {
		d.of[i].add(operands[i].Slot)
	}
	return true
}
