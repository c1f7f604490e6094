package sim

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// node is the current state of the program of a rank that has begun and may still have something to
// do. Its memory is reused. It makes the same decisions as runtime/machine, and the tests check
// that. A rule waits by one of its unset slots at a time, in a list of that slot. So no index of
// waiting rules is needed.
type node struct {
	words []int32
	shape *shape
	left  int32 // number of rules that have not fired
	next  int32 // the next free node, if this one is free
}

// A node has words for its slots, its rules and its sends. After these come the chunks that it has
// numbered itself (see numbering), and the lists of slots of messages that have several: their
// number, and an ir.Slot for each.
//
// A slot's word is 4 times the first rule that waits by it, counted from 1, plus two flags.
const (
	slotSet  = 1 // the slot is set
	slotDone = 2 // the call waits for it

	slotFlags = slotSet | slotDone
	slotShift = 2
)

// The words of a rule.
const (
	ruleNext = iota // the next rule that waits by the same slot, counted from 1
	rulePos         // index in shape.waits of the slot by which it waits; all later ones are set

	ruleWords
)

// The words of a send.
const (
	sendSlot = iota // an ir.Slot, or the result of listAt
	sendTo          // the rank, toAll or toFold

	sendWords
)

// Values in place of the rank of a put. The slots of a fold are a list: what it makes, then its
// operands.
const (
	toAll  = -1
	toFold = -3 // see also toOwn
)

// listAt returns the word of a send in place of a slot, if the list of its slots starts at the
// given place. It is a slot of no kind other than ir.None.
func listAt(place int) ir.Slot { return ir.Slot(1 + place) }

// message returns the slots of a send that has a list of them, and their names at the destination,
// or nil if these are the same. ok is false if slot does not stand for a list.
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

// send returns the slot and the destination of a send.
func (n *node) send(i int32) (slot ir.Slot, to int32) {
	at := len(n.shape.begin) + int(i)*sendWords
	w := n.words[at : at+sendWords]
	return ir.Slot(w[sendSlot]), w[sendTo]
}

// has reports whether a slot is set.
func (n *node) has(slot int32) bool { return n.words[slot]&slotSet != 0 }

// begin makes the rules wait, and appends the rules that fire.
func (n *node) begin(fired []int32) []int32 {
	n.left = int32(len(n.shape.rules))
	for i := range n.left {
		if n.wait(i) {
			fired = append(fired, i)
		}
	}
	return fired
}

// assign sets a slot, which must not be set, and appends the rules that fire, in order.
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

// wait finds a slot by which a rule waits. It returns true if there is none, so that the rule
// fires. The previous rule may wait for some of the same slots. Of these, wait examines only slots
// that were not set when the previous rule was examined.
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
