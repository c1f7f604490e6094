package sim

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// shape is what programs have in common that differ only in what they send to whom. Of
// most schedules all programs have one of a few shapes, so that what a rank has for
// itself is little. A shape is not changed once it is made.
type shape struct {
	begin   []int32 // the words of a node of which no slot is set: of its slots and its rules
	slots   int32   // how many of them are of slots: enter, chunks, signals, partial results
	chunks  int32   // how many of the slots are chunks
	signals int32   // how many are signals
	known   int32   // behind the words of sends: where the chunks stand that the node has numbered
	lists   int32   // where the lists of messages of several slots stand
	rules   []rule
	waits   []int32 // what rules wait for, numbers of slots
	folds   bool    // a rule folds

	entered []int32 // begin, with enter set
	fires   []int32 // the rules that fire then
	left    int32   // how many do not

	next  *shape // another of the same hash
	nodes int    // how many are of this shape
}

// rule says where in its shape stands what a rule waits for and what it sends. The
// word rulePos of a node begins at the last of what it waits for.
type rule struct {
	first   int32 // of what it waits for
	prefix  int32 // behind what the rule before waits for as well; first: nothing
	do, end int32 // its first send, and behind its last
	unless  int32 // of a repair the slot, else -1
	after   int32 // of a repair, in base timeouts
	folds   bool  // some of its sends are folds
}

// equal reports whether two shapes are the same.
func (s *shape) equal(o *shape) bool {
	return s.slots == o.slots && s.chunks == o.chunks && s.signals == o.signals && slices.Equal(s.waits, o.waits) && slices.Equal(s.begin, o.begin) && slices.Equal(s.rules, o.rules)
}

// hash returns a number by which shapes are found.
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

// words returns about how many words the shape takes.
func (s *shape) words() int {
	return 2*len(s.begin) + 6*len(s.rules) + len(s.waits) + len(s.fires)
}

// enter finds out what a rank does that has entered and has nothing else.
func (s *shape) enter() {
	n := node{words: slices.Clone(s.begin), shape: s}
	n.words[0] |= slotSet
	s.fires = n.begin(nil)
	s.entered, s.left = n.words, n.left
}

// shapes are those of all nodes. Those that no node has any more are kept, for
// the next that may have them, while they are not many more than the others.
type shapes struct {
	byHash map[uint64]*shape
	last   *shape // that was found last
	dense  bool   // a node numbers the chunks that its own program names, and no others
	words  int    // of all
	most   int    // at how many words those are given up that no node has
	draft  draft
}

// leastShapes is how many words of shapes are always kept.
const leastShapes = 1 << 18

// of returns the shape of a program, and the words that a node of it has behind those of
// its shape. They are valid until the next call. The schedule has so many chunks.
func (s *shapes) of(p *ir.Program, chunks int, repairs bool) (*shape, []int32, error) {
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

// find returns the shape that is equal to a draft, which it adds if there is none.
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
	s.words += x.words()
	return x
}

// sweep gives up the shapes that no node has.
func (s *shapes) sweep() {
	for hash, x := range s.byHash {
		var kept *shape
		for x != nil {
			next := x.next
			if x.nodes > 0 {
				x.next, kept = kept, x
			} else {
				s.words -= x.words()
			}
			x = next
		}
		if s.byHash[hash] = kept; kept == nil {
			delete(s.byHash, hash)
		}
	}
}

// draft is a program taken apart into a shape and what it sends to whom, in memory that
// the next one takes.
type draft struct {
	shape
	sends []int32 // of each an ir.Slot, and the rank, or toAll; at the end all words behind the shape's

	lists   []int32 // of messages of several slots: how many, and each; of renamed ones less than 0, and behind all of them what they are then
	dense   bool
	numbers numbering

	// What the rules wait for that were written last and not shared with others.
	when   []ir.Slot
	at     int32 // where that begins in waits
	before int32 // how many of them the rule before waits for
}

// maxWords keeps words, and slots with their flags, within an int32.
const maxWords = 1 << 28

// kept reports whether a rule can matter: one that does nothing does not, and no
// repair does if none is made.
func kept(r *ir.Rule, repairs bool) bool { return len(r.Do) > 0 && (repairs || !r.IsRepair()) }

// write makes d the program p of a schedule of so many chunks in total.
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
			k = d.numbers.of(s, k)
		}
		if k < 0 {
			return fmt.Errorf("rank %d: there is no slot %v to be done with", p.Rank, s)
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
			number = d.numbers.of(s, number)
		}
		if number < 0 {
			return checkWhen(p, i, chunks)
		}
		d.waits = append(d.waits, number)
	}
	w := rule{first: first, prefix: prefix, do: int32(len(d.sends) / sendWords), unless: -1, after: int32(r.After)}
	if r.IsRepair() {
		if w.unless = slotNumber(r.Unless, int(d.chunks), p.Signals, p.Values); d.dense {
			w.unless = d.numbers.of(r.Unless, w.unless)
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

// list writes the slots of a message of several, and returns what stands for them in the
// word of its send.
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

// fold writes what a fold makes and its operands, and returns what stands for them in the word of
// its send.
func (d *draft) fold(do []ir.Action) ir.Slot {
	at := len(d.lists)
	d.lists = append(d.lists, int32(1+len(do)), int32(do[0].As))
	for _, a := range do {
		d.lists = append(d.lists, int32(a.Slot))
	}
	return listAt(at)
}

// share returns the place of what a rule waits for, and what of it has to be written
// behind all others. Where a rule waits for a beginning of what the one before waits
// for, or the other way round, and the two are one memory, as in many programs, they
// are so here too.
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

// checkWhen returns an error if rule i of p waits for a slot that the rank does
// not have.
func checkWhen(p *ir.Program, i, chunks int) error {
	for _, s := range p.Rules[i].When {
		if slotNumber(s, chunks, p.Signals, p.Values) < 0 {
			return fmt.Errorf("rank %d, rule %d: there is no slot %v to wait for", p.Rank, i, s)
		}
	}
	return nil
}

// slotNumber returns the number of a slot of a rank, -1 if it has no such slot.
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
