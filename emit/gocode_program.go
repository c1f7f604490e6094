package emit

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// outline takes programs apart into what they do and the numbers with which they do it. Two ranks
// have one role if what they do is the same.
//
// A chunk whose block belongs to ranks has several numbers: those ranks, and the index of the chunk
// in the block. So if every rank sends the block of its neighbour, the numbers are the same
// function of the rank at all ranks.
type outline struct {
	s       *ir.Schedule
	owners  int                // how many numbers of a chunk are ranks: 0, 1 or 2
	per     int                // chunks that belong to one rank, or to one pair of ranks
	inputs  bool               // contributions are described like chunks, because they have as many parts
	ordered [termList + 1]bool // by kind of list: it is a set, which ascends at all ranks
}

// The kinds of lists of slots.
const (
	whenList    = iota
	messageList // of a put
	wantedList  // the first part of Done
	doneList    // the rest of Done
	termList    // of a fold, or of a put with other names at the destination: the order matters
)

// putAs represents in shapes a put whose slots have other names at the destination.
const putAs = ir.Fold + 1

// coded is one rank's program, taken apart.
type coded struct {
	shape   []byte // what the rank does, see shapeReader
	numbers []int  // in the order of shape
	ranks   []bool // by number: it is a rank
	moved   []bool // by list of slots: its order here is not the program's order

	sorted, message []ir.Slot // scratch
}

func newOutline(s *ir.Schedule, owners int) *outline {
	o := &outline{s: s, owners: owners, per: s.Chunks, ordered: [...]bool{true, true, true, false, false}}
	o.inputs = s.InputChunks() == s.Chunks
	for range owners {
		o.per /= s.Ranks
	}
	see := func(kind int, list []ir.Slot) { o.ordered[kind] = o.ordered[kind] && slices.IsSorted(list) }
	for r := range s.Programs {
		p := &s.Programs[r]
		see(wantedList, p.Done[:o.wanted(p)])
		for i := range p.Rules {
			see(whenList, p.Rules[i].When)
			for do := p.Rules[i].Do; len(do) > 0; do = do[len(ir.MessageOf(do)):] {
				if do[0].Op == ir.Fold || renamed(ir.MessageOf(do)) {
					continue
				}
				o.ordered[messageList] = o.ordered[messageList] && slices.IsSortedFunc(ir.MessageOf(do), func(a, b ir.Action) int { return int(a.Slot) - int(b.Slot) })
			}
		}
	}
	return o
}

// renamed reports whether a message has slots with other names at the destination.
func renamed(message []ir.Action) bool {
	return message[0].Op == ir.Put && slices.ContainsFunc(message, func(a ir.Action) bool { return a.As != ir.None })
}

// wanted returns how many slots at the beginning of Done are chunks that the rank wants.
func (o *outline) wanted(p *ir.Program) int {
	want := o.s.Wanted(p.Rank)
	n := slices.IndexFunc(p.Done, func(s ir.Slot) bool { return s.Kind() != ir.KindChunk || !want.Has(s.Index()) })
	if n < 0 {
		return len(p.Done)
	}
	return n
}

// owned returns the possible values of outline.owners: how many numbers of a chunk may be ranks.
func owned(s *ir.Schedule) []int {
	switch n := s.Blocks(); {
	case s.Ranks == 1 || s.Chunks == 0:
		return []int{0}
	case n == s.Ranks:
		return []int{1}
	case n == s.Ranks*s.Ranks:
		return []int{2}
	case s.Chunks%s.Ranks == 0:
		return []int{0, 1} // maybe a message with a piece for each rank
	}
	return []int{0}
}

// parts returns the numbers of a chunk. The numbers that are ranks come first.
func (o *outline) parts(chunk int) (parts [3]int, n int) {
	k := chunk % max(o.per, 1)
	switch owner := chunk / max(o.per, 1); o.owners {
	case 1:
		return [3]int{owner, k}, 2
	case 2:
		return [3]int{owner / o.s.Ranks, owner % o.s.Ranks, k}, 3
	}
	return [3]int{chunk}, 1
}

// order is the sort key of slots from the view of rank: its own chunks come first, then the chunks
// of the next rank. So an ascending list is the same list at all ranks, although it starts
// elsewhere at each.
func (o *outline) order(rank int, s ir.Slot) int {
	if s.Kind() != ir.KindChunk {
		return int(s)
	}
	parts, n := o.parts(s.Index())
	key := 0
	for _, owner := range parts[:o.owners] {
		key = key*o.s.Ranks + (owner-rank+o.s.Ranks)%o.s.Ranks
	}
	return int(ir.Chunk(0)) + key*o.per + parts[n-1]
}

// take takes the program of a rank apart. The result is valid until the next call with the same c.
func (o *outline) take(c *coded, rank int) {
	c.shape, c.numbers, c.ranks, c.moved = c.shape[:0], c.numbers[:0], c.ranks[:0], c.moved[:0]
	p := &o.s.Programs[rank]
	c.number(p.Signals, false)
	c.number(p.Values, false)
	c.count(len(p.Rules))
	for i := range p.Rules {
		rule := &p.Rules[i]
		c.count(int(rule.Unless.Kind()))
		if rule.IsRepair() {
			o.slot(c, rule.Unless)
			c.number(rule.After, false)
		}
		o.list(c, rank, whenList, rule.When)
		o.actions(c, rank, rule.Do)
	}
	n := o.wanted(p)
	o.list(c, rank, wantedList, p.Done[:n])
	o.list(c, rank, doneList, p.Done[n:])
	c.peers(p.Ask)
	c.count(count01(p.Reports))
	if p.Reports {
		c.number(int(p.ReportTo), true)
	}
	c.peers(p.ReportFrom)
	o.actions(c, rank, p.Twice)
}

func count01(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (c *coded) count(n int) { c.shape = binary.AppendUvarint(c.shape, uint64(n)) }

func (c *coded) number(n int, rank bool) {
	c.numbers, c.ranks = append(c.numbers, n), append(c.ranks, rank)
}

func (c *coded) peers(list []int32) {
	c.count(len(list))
	for _, r := range list {
		c.number(int(r), true)
	}
}

func (o *outline) slot(c *coded, s ir.Slot) {
	switch kind := s.Kind(); {
	case kind == ir.KindChunk, kind == ir.KindInput && o.inputs:
		parts, n := o.parts(s.Index())
		for i, part := range parts[:n] {
			c.number(part, i < o.owners)
		}
	case kind != ir.KindEnter && kind != ir.KindNone:
		c.number(s.Index(), false)
	}
}

func (o *outline) list(c *coded, rank, kind int, list []ir.Slot) {
	moved := false
	if o.owners > 0 && o.ordered[kind] && len(list) > 1 {
		c.sorted = append(c.sorted[:0], list...)
		slices.SortFunc(c.sorted, func(a, b ir.Slot) int { return o.order(rank, a) - o.order(rank, b) })
		moved, list = !slices.Equal(c.sorted, list), c.sorted
	}
	c.moved = append(c.moved, moved)
	c.count(len(list))
	for _, s := range list {
		c.count(int(s.Kind()))
		o.slot(c, s)
	}
}

// actions takes a list of actions apart, message by message.
func (o *outline) actions(c *coded, rank int, do []ir.Action) {
	messages := 0
	for rest := do; len(rest) > 0; rest = rest[len(ir.MessageOf(rest)):] {
		messages++
	}
	c.count(messages)
	for len(do) > 0 {
		message := ir.MessageOf(do)
		do = do[len(message):]
		c.message = c.message[:0]
		for _, a := range message {
			c.message = append(c.message, a.Slot)
		}
		if message[0].Op == ir.Fold {
			c.count(int(ir.Fold))
			o.list(c, rank, termList, []ir.Slot{message[0].As})
			o.list(c, rank, termList, c.message)
			continue
		}
		if renamed(message) {
			c.count(int(putAs))
			c.number(int(message[0].To), true)
			o.list(c, rank, termList, c.message)
			c.message = c.message[:0]
			for _, a := range message {
				c.message = append(c.message, a.Sets())
			}
			o.list(c, rank, termList, c.message)
			continue
		}
		c.count(int(message[0].Op))
		if message[0].Op == ir.Put {
			c.count(count01(o.complete(c, int(message[0].To))))
			c.number(int(message[0].To), true)
		}
		o.list(c, rank, messageList, c.message)
	}
}

// complete adds the chunk of the destination to a message, if only that chunk is missing between
// the others. It reports whether it has added it. Such a message has the chunks of all ranks of a
// host except the destination's own: the host's first rank sends them.
func (o *outline) complete(c *coded, to int) bool {
	if o.owners != 1 || o.per != 1 || len(c.message) < 2 {
		return false
	}
	at, found := slices.BinarySearch(c.message, ir.Chunk(to))
	if found || at == 0 || at == len(c.message) {
		return false
	}
	all := slices.Insert(c.message, at, ir.Chunk(to))
	for i, s := range all {
		if s != all[0]+ir.Slot(i) {
			c.message = slices.Delete(all, at, at+1)
			return false
		}
	}
	c.message = all
	return true
}

// checkGo refuses what the runtime refuses to compile: repairs that may still be wanted when the
// operation is done. [ir.Digest] has refused everything that is out of range.
func checkGo(s *ir.Schedule) error {
	for r := range s.Programs {
		p := &s.Programs[r]
		for i := range p.Rules {
			if rule := &p.Rules[i]; rule.IsRepair() && !slices.Contains(p.Done, rule.Unless) {
				return fmt.Errorf("rank %d, rule %d: done does not wait for %v, which ends the repair", r, i, rule.Unless)
			}
		}
	}
	return nil
}
