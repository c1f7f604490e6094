package sim

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// shape is the common part of programs that differ only in their sends and destinations. In most
// schedules all programs have one of a few shapes, so each rank needs little memory of its own. A
// shape is immutable.
type shape struct {
	begin   []int32 // the words of slots and rules of a node without set slots
	slots   int32   // number of slots: enter, chunks, signals, partial results
	chunks  int32   // number of chunks among the slots
	signals int32   // number of signals
	known   int32   // index, after the words of sends, of the chunks that the node has numbered
	lists   int32   // index of the lists of messages of several slots
	rules   []rule
	waits   []int32 // the slots for which rules wait, by number
	folds   bool    // a rule folds

	entered []int32 // begin with enter set
	fires   []int32 // the rules that fire then
	left    int32   // the number of rules that do not

	next  *shape // the next shape with the same hash
	nodes int    // number of nodes with this shape
}

// rule says where in its shape a rule's waits and sends are. The word rulePos of a node starts at
// the last of its waits.
type rule struct {
	first   int32 // its first wait
	prefix  int32 // one past the waits that it shares with the previous rule; first: none
	do, end int32 // its first send, and one past its last
	unless  int32 // of a repair: the slot, else -1
	after   int32 // of a repair: in base timeouts
	folds   bool  // some of its sends are folds
}

// equal reports whether two shapes are the same.
func (s *shape) equal(o *shape) bool {
	return s.slots == o.slots && s.chunks == o.chunks && s.signals == o.signals && slices.Equal(s.waits, o.waits) && slices.Equal(s.begin, o.begin) && slices.Equal(s.rules, o.rules)
}

// hash returns the hash by which shapes are found.
func (s *shape) hash() uint64 {
	x := uint64(len(s.begin))
	for _, w := range s.waits {
		x = mix(x + uint64(w))
	}
	for i := range s.rules {
		x = mix(x + uint64(s.rules[i].end))
	}
	return x
}

// wordCount returns the approximate number of words of the shape.
func (s *shape) wordCount() int {
	return 2*len(s.begin) + 6*len(s.rules) + len(s.waits) + len(s.fires)
}

// enter computes the state of a rank that has entered and has nothing else.
func (s *shape) enter() {
	n := node{words: slices.Clone(s.begin), shape: s}
	n.words[0] |= slotSet
	s.fires = n.begin(nil)
	s.entered, s.left = n.words, n.left
}

// shapes holds the shapes of all nodes. It keeps shapes without nodes for future nodes, as long as
// they are not many more than the others.
type shapes struct {
	byHash map[uint64]*shape
	last   *shape // the last result of of
	dense  bool   // a node numbers only the chunks that its own program names
	words  int    // of all shapes
	most   int    // number of words at which shapes without nodes are removed
	draft  draft
}

// leastShapes is the number of words of shapes that are always kept.
const leastShapes = 1 << 18

// shapeOf returns the shape of a program, and the words of a node that follow the words of its
// shape. They are valid until the next call. The schedule has the given number of chunks.
func (s *shapes) shapeOf(p *ir.Program, chunks int, repairs bool) (*shape, []int32, error) {
	d := &s.draft
	d.dense = s.dense
	if err := d.write(p, chunks, repairs); err != nil {
		return nil, nil, err
	}
	if s.last == nil || !s.last.equal(&d.shape) {
		s.last = s.find(&d.shape)
	}
	return s.last, d.sends, nil
}

// find returns the shape that is equal to a draft. It adds the shape if there is none.
func (s *shapes) find(d *shape) *shape {
	hash := d.hash()
	for x := s.byHash[hash]; x != nil; x = x.next {
		if x.equal(d) {
			return x
		}
	}
	if s.byHash == nil {
		s.byHash, s.most = make(map[uint64]*shape), leastShapes
	}
	if s.words > s.most {
		s.sweep()
		s.most = max(2*s.words, leastShapes)
	}
	x := &shape{begin: slices.Clone(d.begin), slots: d.slots, chunks: d.chunks, signals: d.signals, folds: d.folds, known: d.known, lists: d.lists, rules: slices.Clone(d.rules), waits: slices.Clone(d.waits)}
	x.enter()
	x.next, s.byHash[hash] = s.byHash[hash], x
	s.words += x.wordCount()
	return x
}

// sweep removes the shapes without nodes.
func (s *shapes) sweep() {
	for hash, x := range s.byHash {
		var kept *shape
		for x != nil {
			next := x.next
			if x.nodes > 0 {
				x.next, kept = kept, x
			} else {
				s.words -= x.wordCount()
			}
			x = next
		}
		if s.byHash[hash] = kept; kept == nil {
			delete(s.byHash, hash)
		}
	}
}

// draft is a program taken apart into a shape and its sends. Its memory is reused for the next
// program.
type draft struct {
	shape
	// sends has an ir.Slot and the rank, or toAll, of each send. At the end it has all words after
	// the words of the shape.
	sends []int32

	// lists has the number of slots of each message of several, and these slots. If slots get other
	// names, the number is negative and the new names follow.
	lists   []int32
	dense   bool
	numbers numbering

	// The last waits that were written and not shared.
	when   []ir.Slot
	at     int32 // where when starts in waits
	before int32 // for how many of them the previous rule waits
}

// maxWords keeps words, and slots with their flags, within an int32.
const maxWords = 1 << 28

// kept reports whether a rule can matter. A rule that does nothing does not, and a repair does not
// if repairs are off.
func kept(r *ir.Rule, repairs bool) bool { return len(r.Do) > 0 && (repairs || !r.IsRepair()) }

// write makes d the program p of a schedule of total chunks.
func (d *draft) write(p *ir.Program, total int, repairs bool) error {
	chunks := total
	if d.dense {
		d.numbers.note(p, total, repairs)
		chunks = len(d.numbers.chunks)
	}
	slots := 1 + chunks + p.Signals + p.Values
	if slots > maxWords {
		return tooLong(p)
	}
	d.begin = slices.Grow(d.begin[:0], slots)[:slots]
	clear(d.begin)
	d.slots, d.chunks, d.signals, d.rules, d.waits = int32(slots), int32(chunks), int32(p.Signals), d.rules[:0], d.waits[:0]
	d.folds = false
	d.sends, d.lists = d.sends[:0], d.lists[:0]
	d.when, d.before = nil, 0
	for _, s := range p.Done {
		k := slotNumber(s, chunks, p.Signals, p.Values)
		if d.dense {
			k = d.numbers.numberOf(s, k)
		}
		if k < 0 {
			return fmt.Errorf("rank %d: there is no slot %v for done to wait for", p.Rank, s)
		}
		d.begin[k] |= slotDone
	}
	for i := range p.Rules {
		if !kept(&p.Rules[i], repairs) {
			if err := checkWhen(p, i, total); err != nil {
				return err
			}
			continue
		}
		if err := d.rule(p, i, total); err != nil {
			return err
		}
	}
	d.known = int32(len(d.begin) + len(d.sends))
	if d.dense {
		d.sends = d.numbers.write(d.sends)
	}
	d.shape.lists = int32(len(d.begin) + len(d.sends))
	if d.sends = append(d.sends, d.lists...); len(d.begin)+len(d.sends) > maxWords {
		return tooLong(p)
	}
	return nil
}

// rule writes rule i of p.
func (d *draft) rule(p *ir.Program, i, chunks int) error {
	r := &p.Rules[i]
	first, prefix, more := d.share(r.When)
	for _, s := range more {
		number := slotNumber(s, int(d.chunks), p.Signals, p.Values)
		if d.dense {
			number = d.numbers.numberOf(s, number)
		}
		if number < 0 {
			return checkWhen(p, i, chunks)
		}
		d.waits = append(d.waits, number)
	}
	w := rule{first: first, prefix: prefix, do: int32(len(d.sends) / sendWords), unless: -1, after: int32(r.After)}
	if r.IsRepair() {
		if w.unless = slotNumber(r.Unless, int(d.chunks), p.Signals, p.Values); d.dense {
			w.unless = d.numbers.numberOf(r.Unless, w.unless)
		}
		if w.unless < 0 {
			return fmt.Errorf("rank %d, rule %d: there is no slot %v to be repaired", p.Rank, i, r.Unless)
		}
	}
	for k := 0; k < len(r.Do); k++ {
		a := &r.Do[k]
		slot, to := a.Slot, a.To
		switch {
		case a.Op == ir.Fold:
			fold := ir.MessageOf(r.Do[k:])
			if slotNumber(a.As, chunks, p.Signals, p.Values) < 0 {
				return fmt.Errorf("rank %d, rule %d: there is no slot %v to fold into", p.Rank, i, a.As)
			}
			slot, to, w.folds, d.folds = d.fold(fold), toFold, true, true
			k += len(fold) - 1
		case a.As != ir.None || k+1 < len(r.Do) && r.Do[k+1].Joins:
			message := ir.MessageOf(r.Do[k:])
			var err error
			if slot, err = d.list(p, i, message); err != nil {
				return err
			}
			k += len(message) - 1
		case slot.Kind() == ir.KindNone:
			slot = ir.None
		case a.Op == ir.Mcast:
			to = toAll
		}
		d.sends = append(d.sends, int32(slot), to)
	}
	w.end = int32(len(d.sends) / sendWords)
	d.rules = append(d.rules, w)
	d.begin = append(d.begin, 0, first+int32(len(r.When))-1)
	if len(d.begin)+len(d.waits)+len(d.sends)+len(d.lists) > maxWords {
		return tooLong(p)
	}
	return nil
}

// list writes the slots of a message of several, and returns the word of its send in place of a
// slot.
func (d *draft) list(p *ir.Program, i int, message []ir.Action) (ir.Slot, error) {
	at := len(d.lists)
	if at+len(message) >= maxWords {
		return ir.None, tooLong(p)
	}
	count := len(message)
	renamed := slices.ContainsFunc(message, func(a ir.Action) bool { return a.As != ir.None })
	if renamed {
		count = -count
	}
	d.lists = append(d.lists, int32(count))
	for _, a := range message {
		if a.Op != ir.Put || a.To != message[0].To {
			return ir.None, fmt.Errorf("rank %d, rule %d: one message of several slots consists of puts to one rank", p.Rank, i)
		}
		d.lists = append(d.lists, int32(a.Slot))
	}
	if renamed {
		for _, a := range message {
			d.lists = append(d.lists, int32(a.Sets()))
		}
	}
	return listAt(at), nil
}

// fold adds a list with the result and the operands of a fold. It returns the number of the list,
// coded as a slot, for the place where a send has its slot.
func (d *draft) fold(do []ir.Action) ir.Slot {
	at := len(d.lists)
	d.lists = append(d.lists, int32(1+len(do)), int32(do[0].As))
	for _, a := range do {
		d.lists = append(d.lists, int32(a.Slot))
	}
	return listAt(at)
}

// share returns where a rule's waits are, and the part of them that must be written. If one of two
// successive rules waits for a prefix of what the other waits for, and both use the same memory, as
// in many programs, they share their waits here too.
func (d *draft) share(when []ir.Slot) (first, prefix int32, more []ir.Slot) {
	before := d.before
	d.before = int32(len(when))
	if len(when) == 0 || len(d.when) == 0 || &when[0] != &d.when[0] {
		d.at, d.when = int32(len(d.waits)), when
		return d.at, d.at, when
	}
	if len(when) > len(d.when) {
		more, d.when = when[len(d.when):], when
	}
	return d.at, d.at + min(before, int32(len(when))), more
}

func tooLong(p *ir.Program) error {
	return fmt.Errorf("rank %d: a program of more than %d words", p.Rank, maxWords)
}

// checkWhen returns an error if rule i of p waits for a slot that the rank does not have.
func checkWhen(p *ir.Program, i, chunks int) error {
	for _, s := range p.Rules[i].When {
		if slotNumber(s, chunks, p.Signals, p.Values) < 0 {
			return fmt.Errorf("rank %d, rule %d: there is no slot %v to wait for", p.Rank, i, s)
		}
	}
	return nil
}

// slotNumber returns the number of a slot of a rank, or -1 if it has no such slot.
func slotNumber(s ir.Slot, chunks, signals, values int) int32 {
	switch i := s.Index(); {
	case s == ir.Enter:
		return 0
	case s.Kind() == ir.KindChunk && i < chunks:
		return int32(1 + i)
	case s.Kind() == ir.KindSignal && i < signals:
		return int32(1 + chunks + i)
	case s.Kind() == ir.KindValue && i < values:
		return int32(1 + chunks + signals + i)
	}
	return -1
}
