package sim

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// node is what is left of the program of a rank that has begun and has not done
// all that it may have to do: flat, in memory without pointers that is used again.
// It decides what runtime/machine decides, which the tests hold: rules wait by one
// of their slots that is not set at a time, in a list of that slot, so that a
// program of n words takes n words and not also an index of who waits for what.
type node struct {
	words []int32
	slots int32 // number of slots: enter, chunks, signals
	rules int32 // number of rules
	left  int32 // rules that have not fired
}

// The words of a node are those of its slots, of its rules, of what these wait
// for and of what they do, two for each action: slot and rank, or -1 for all.
//
// A slot's word is the first rule that waits by it, counted from 1, times 4, and
// its two flags.
const (
	slotSet  = 1 // the slot is set
	slotDone = 2 // the call waits for it

	slotFlags = slotSet | slotDone
	slotShift = 2
)

// The words of a rule. Behind what a repair does stands after how many base
// timeouts.
const (
	ruleNext   = iota // the next rule that waits by the same slot, counted from 1
	ruleFirst         // where what it waits for begins
	rulePos           // where what it waits by stands; all behind it are set
	rulePrefix        // where the slots end which the rule before waits for as well; 0: none
	ruleDo            // where what it does begins
	ruleEnd           // and where that ends
	ruleUnless        // of a repair the slot, else -1

	ruleWords
)

const toAll = -1 // in place of the rank of a put

func (n *node) rule(i int32) []int32 {
	at := n.slots + i*ruleWords
	return n.words[at : at+ruleWords : at+ruleWords]
}

// after returns after how many base timeouts a repair is due.
func (n *node) after(rule int32) Time { return Time(n.words[n.rule(rule)[ruleEnd]]) }

// has reports whether a slot is set.
func (n *node) has(slot int32) bool { return n.words[slot]&slotSet != 0 }

// assign sets a slot, which is not set, and appends the rules that fire, in
// their order.
func (n *node) assign(fired []int32, slot int32) []int32 {
	i := n.words[slot] >> slotShift
	n.words[slot] = n.words[slot]&slotFlags | slotSet
	from := len(fired)
	for i != 0 {
		rule := n.rule(i - 1)
		next := rule[ruleNext]
		rule[rulePos]--
		if n.wait(i-1, rule) {
			fired = append(fired, i-1)
		}
		i = next
	}
	if len(fired)-from > 1 {
		slices.Sort(fired[from:])
	}
	return fired
}

// wait finds a slot by which a rule waits, and reports whether there is none: the
// rule fires. Of the slots for which the rule before waits too, it looks at those
// alone that were not set yet when that looked.
func (n *node) wait(i int32, rule []int32) bool {
	pos, first := rule[rulePos], rule[ruleFirst]
	for pos >= first {
		if before := i - 1; pos < rule[rulePrefix] && n.rule(before)[rulePos] < pos {
			pos = n.rule(before)[rulePos]
			continue
		}
		if !n.has(n.words[pos]) {
			break
		}
		pos--
	}
	rule[rulePos] = pos
	if pos < first {
		n.left--
		return true
	}
	word := &n.words[n.words[pos]]
	rule[ruleNext] = *word >> slotShift
	*word = (i+1)<<slotShift | *word&slotFlags
	return false
}

// slotNumber returns the number of a slot of a rank, -1 if it has no such slot.
func slotNumber(s ir.Slot, chunks, signals int) int32 {
	switch i := s.Index(); {
	case s == ir.Enter:
		return 0
	case s.Kind() == ir.KindChunk && i < chunks:
		return int32(1 + i)
	case s.Kind() == ir.KindSignal && i < signals:
		return int32(1 + chunks + i)
	}
	return -1
}

// kept reports whether a rule can matter: one that does nothing does not, and no
// repair does if none is made.
func kept(r *ir.Rule, repairs bool) bool { return len(r.Do) > 0 && (repairs || !r.IsRepair()) }

// compile makes n the program p, with nothing set and no rule fired.
func (n *node) compile(p *ir.Program, chunks int, repairs bool, store *store) error {
	words, waits := 1+chunks+p.Signals, waits{}
	n.slots, n.rules = int32(words), 0
	for i := range p.Rules {
		if r := &p.Rules[i]; kept(r, repairs) {
			n.rules++
			words += ruleWords + len(waits.add(r.When).more) + 2*len(r.Do)
			if r.IsRepair() {
				words++
			}
		}
	}
	if words > maxWords {
		return fmt.Errorf("rank %d: a program of more than %d words", p.Rank, maxWords)
	}
	n.words, n.left = store.get(words), n.rules
	clear(n.words[:n.slots])
	for _, s := range p.Done {
		k := slotNumber(s, chunks, p.Signals)
		if k < 0 {
			return fmt.Errorf("rank %d: there is no slot %v to be done with", p.Rank, s)
		}
		n.words[k] |= slotDone
	}
	return n.write(p, chunks, repairs, n.slots+n.rules*ruleWords, n.slots+n.rules*ruleWords+int32(waits.n))
}

// maxWords keeps words, and slots with their flags, within an int32.
const maxWords = 1 << 28

// waits lays out what rules wait for. Where a rule waits for a beginning of what
// the one before waits for, or the other way round, and the two are one memory, as
// in many programs, they are so here too.
type waits struct {
	n      int       // words of all
	at     int       // where the last that are not shared begin
	last   []ir.Slot // they
	before int       // how many of them the last rule waits for
}

// place is where what a rule waits for stands.
type place struct {
	at, prefix int       // where it begins, and where what the rule before waits for too ends, at if nothing
	more       []ir.Slot // what has to be written behind all others
}

// add returns the place of what a rule waits for, behind all that was added.
func (w *waits) add(when []ir.Slot) place {
	before := w.before
	w.before = len(when)
	if len(when) == 0 || len(w.last) == 0 || &when[0] != &w.last[0] {
		w.at, w.last = w.n, when
		w.n += len(when)
		return place{w.at, w.at, when}
	}
	p := place{at: w.at, prefix: w.at + min(before, len(when))}
	if len(when) > len(w.last) {
		p.more, w.last = when[len(w.last):], when
		w.n += len(p.more)
	}
	return p
}

// write writes the rules of p, what they wait for from waitAt and what they do
// from doAt.
func (n *node) write(p *ir.Program, chunks int, repairs bool, waitAt, doAt int32) error {
	var waits waits
	written := int32(0)
	for i := range p.Rules {
		r := &p.Rules[i]
		if !kept(r, repairs) {
			if err := checkWhen(p, i, chunks); err != nil {
				return err
			}
			continue
		}
		behind := waitAt + int32(waits.n)
		place := waits.add(r.When)
		for k, s := range place.more {
			number := slotNumber(s, chunks, p.Signals)
			if number < 0 {
				return checkWhen(p, i, chunks)
			}
			n.words[behind+int32(k)] = number
		}
		rule := n.rule(written)
		rule[ruleFirst], rule[rulePrefix] = waitAt+int32(place.at), waitAt+int32(place.prefix)
		rule[rulePos] = rule[ruleFirst] + int32(len(r.When)) - 1
		rule[ruleUnless] = slotNumber(r.Unless, chunks, p.Signals)
		if r.IsRepair() && rule[ruleUnless] < 0 {
			return fmt.Errorf("rank %d, rule %d: there is no slot %v to be repaired", p.Rank, i, r.Unless)
		}
		rule[ruleDo] = doAt
		for _, a := range r.Do {
			n.words[doAt], n.words[doAt+1] = int32(a.Slot), a.To
			if a.Op == ir.Mcast {
				n.words[doAt+1] = toAll
			}
			doAt += 2
		}
		rule[ruleEnd] = doAt
		if r.IsRepair() {
			n.words[doAt] = int32(r.After)
			doAt++
		}
		written++
	}
	return nil
}

// checkWhen returns an error if rule i of p waits for a slot that the rank does
// not have.
func checkWhen(p *ir.Program, i, chunks int) error {
	for _, s := range p.Rules[i].When {
		if slotNumber(s, chunks, p.Signals) < 0 {
			return fmt.Errorf("rank %d, rule %d: there is no slot %v to wait for", p.Rank, i, s)
		}
	}
	return nil
}
