package sim

import "github.com/schedgen/schedgen/ir"

// classify records the class of the length of a slot that is set. A partial result has it in its
// word, in place of the rules that waited for the slot.
func (n *node) classify(slot int32, class uint8) {
	if slot >= 1+n.shape.chunks+n.shape.signals {
		n.words[slot] |= int32(class) << slotShift
	}
}

// classOf returns the class of the length of a slot at its rank. Contributions and partial results
// are as long as the chunks to which they belong.
func (e *engine) classOf(n *node, s ir.Slot) uint8 {
	switch i := s.Index(); s.Kind() {
	case ir.KindChunk:
		return e.costs.classOf(int32(1 + i))
	case ir.KindInput:
		if per := e.costs.per; per > 0 {
			return e.costs.class[1+i%per]
		}
	case ir.KindValue:
		if slot := 1 + n.shape.chunks + n.shape.signals + int32(i); slot < n.shape.slots && n.has(slot) {
			return uint8(n.words[slot] >> slotShift)
		}
	}
	return 0
}

// startFolds begins the folds of a rule and queues its sends.
func (e *engine) startFolds(r int, n *node, w *rule) bool {
	own := &e.ranks[r]
	from := w.do
	for i := w.do; i <= w.end; i++ {
		if i < w.end {
			if _, to := n.send(i); to != toFold {
				continue
			}
		}
		if from < i {
			e.lists.put(&own.rules, entry{seq: e.numbers(i - from), what: from, from: i})
		}
		if from = i + 1; i == w.end {
			break
		}
		if made, took, _ := e.foldOf(n, i); took == 0 {
			e.counts.Folds++
			e.local.ended = append(e.local.ended, made)
		} else {
			e.lists.put(&e.local.work[r], entry{seq: e.numbers(1), what: i})
		}
	}
	return true
}

// foldOf returns what fold i of a node makes, how long it takes, and the slot that it makes.
func (e *engine) foldOf(n *node, i int32) (made ended, took Time, slot ir.Slot) {
	list, _ := n.send(i)
	slots, _, _ := n.message(list)
	slot = ir.Slot(slots[0])
	class := e.classOf(n, ir.Slot(slots[1]))
	number := e.slotAt(slot, 0)
	if number >= 0 {
		number = e.numberIn(n, number)
	}
	took = e.costs.folding.timeOf(e.costs.bytes[class]) * Time(max(len(slots)-2, 1))
	return ended{number, class}, took, slot
}

// fold begins the next fold of a rank whose CPU is free. The CPU is busy for everything that waits
// for the fold until the fold has ended.
func (e *engine) fold(r int, now Time) {
	own := &e.ranks[r]
	n := e.store.at(own.node)
	waits := &e.local.work[r]
	made, took, slot := e.foldOf(n, e.lists.at(waits.first).what)
	if e.path != nil {
		e.path.fold(r, now, took, e.slotAt(slot, 0))
	}
	own.cpu = now + took
	e.counts.Events++
	e.counts.Folds++
	e.lists.dropFirst(waits)
	e.local.ended = append(e.local.ended, made)
	e.settle(r, n)
	e.mayReturn(r)
	e.mayEnd(r)
}
