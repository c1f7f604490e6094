package sim

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// node is what is left of the program of a rank that has begun and has not done
// all that it may have to do, in memory that is used again.
// It decides what runtime/machine decides, which the tests hold: rules wait by one
// of their slots that is not set at a time, in a list of that slot, so that no index of
// who waits for what is needed.
type node struct {
	words []int32
	shape *shape
	left  int32 // rules that have not fired
	next  int32 // of a node that is free the next one that is
}

// The words of a node are those of its slots, of its rules and of its sends. Behind them
// are the chunks that it has numbered by itself (see numbering), and the lists of slots of
// messages that have several: how many there are, and an ir.Slot of each.
//
// A slot's word is the first rule that waits by it, counted from 1, times 4, and
// its two flags.
const (
	slotSet  = 1 // the slot is set
	slotDone = 2 // the call waits for it

	slotFlags = slotSet | slotDone
	slotShift = 2
)

// The words of a rule.
const (
	ruleNext = iota // the next rule that waits by the same slot, counted from 1
	rulePos         // where in the shape stands what it waits by; all behind it are set

	ruleWords
)

// The words of a send.
const (
	sendSlot = iota // an ir.Slot, or what listAt returns
	sendTo          // the rank, toAll or toFold

	sendWords
)

// In place of the rank of a put. The slots of a fold are a list: what it makes, then its operands.
const (
	toAll  = -1
	toFold = -3 // see also toOwn
)

// listAt returns what stands in the word of a send in place of one slot if the list of its
// slots begins at a place in the lists: a slot of no kind that is not ir.None.
func listAt(place int) ir.Slot { return ir.Slot(1 + place) }

// message returns the slots of a send that has a list of them, and those that they are at the
// destination; nil: the same. ok is false if slot is not such a list.
func (n *node) message(slot ir.Slot) (slots, sets []int32, ok bool) {
	if slot == ir.None || slot.Kind() != ir.KindNone {
		return nil, nil, false
	}
	at := int(n.shape.lists) + int(slot) - 1
	count := n.words[at]
	if count < 0 { // twice as many slots follow
		return n.words[at+1:][:-count], n.words[at+1-int(count):][:-count], true
	}
	return n.words[at+1:][:count], nil, true
}

func (n *node) rule(i int32) []int32 {
	at := n.shape.slots + i*ruleWords
	return n.words[at : at+ruleWords : at+ruleWords]
}

// send returns what a send sends, and to whom.
func (n *node) send(i int32) (slot ir.Slot, to int32) {
	at := len(n.shape.begin) + int(i)*sendWords
	w := n.words[at : at+sendWords]
	return ir.Slot(w[sendSlot]), w[sendTo]
}

// has reports whether a slot is set.
func (n *node) has(slot int32) bool { return n.words[slot]&slotSet != 0 }

// begin has the rules begin to wait, and appends those that fire.
func (n *node) begin(fired []int32) []int32 {
	n.left = int32(len(n.shape.rules))
	for i := range n.left {
		if n.wait(i) {
			fired = append(fired, i)
		}
	}
	return fired
}

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
		if n.wait(i - 1) {
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
func (n *node) wait(i int32) bool {
	own, rule, waits := n.rule(i), &n.shape.rules[i], n.shape.waits
	pos := own[rulePos]
	for pos >= rule.first {
		if pos < rule.prefix {
			if before := n.rule(i - 1)[rulePos]; before < pos {
				pos = before
				continue
			}
		}
		if !n.has(waits[pos]) {
			break
		}
		pos--
	}
	own[rulePos] = pos
	if pos < rule.first {
		n.left--
		return true
	}
	word := &n.words[waits[pos]]
	own[ruleNext] = *word >> slotShift
	*word = (i+1)<<slotShift | *word&slotFlags
	return false
}
