package sim

import (
	"fmt"
	"math"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// bundle is a message of several slots under way. It is one send and one receive, as long as all
// its slots together.
type bundle struct {
	slots   []int32 // numbers of slots, as messages of one slot carry them
	classes []uint8 // classes of the slots' lengths; empty: there is no partial result among them
	bytes   int
	next    int32 // the next free bundle, if this one is free
}

// bundles holds the bundles under way. In place of a slot number, their messages carry a negative
// number.
type bundles struct {
	all  pages[bundle]
	free int32
}

// newBundle returns the number of a new, empty bundle.
func (b *bundles) newBundle() int32 {
	i := b.free
	if i > 0 {
		b.free = b.all.at(i).next
	} else {
		i = b.all.add()
	}
	x := b.all.at(i)
	x.slots, x.classes, x.bytes = x.slots[:0], x.classes[:0], 0
	return -i
}

func (b *bundles) at(number int32) *bundle { return b.all.at(-number) }

// drop frees a bundle, with its memory.
func (b *bundles) drop(number int32) { b.at(number).next, b.free = b.free, -number }

func (b *bundles) clear() {
	b.all.clear()
	b.free = 0
}

// bundle makes the message of a send of several slots. send is the word of that send.
func (e *engine) bundle(r int, send ir.Slot, to int32) (number int32, err error) {
	own := e.store.at(e.ranks[r].node)
	slots, sets, ok := own.message(send)
	if !ok {
		return 0, noSlot(r, send, to)
	}
	number = e.costs.bundles.newBundle()
	x := e.costs.bundles.at(number)
	for i, s := range slots {
		as := ir.Slot(s)
		if sets != nil {
			as = ir.Slot(sets[i])
		}
		slot := e.slotAt(as, to)
		if slot < 0 {
			return 0, noSlot(r, as, to)
		}
		n := 0
		if sets != nil {
			class := e.classOf(own, ir.Slot(s))
			x.classes = append(x.classes, class)
			n = e.costs.bytes[class]
		} else {
			n = e.costs.lengthOf(slot, int(to))
		}
		if x.bytes > math.MaxInt-n {
			return 0, fmt.Errorf("rank %d: a message to rank %d of more than %d bytes", r, to, math.MaxInt)
		}
		x.bytes += n
		x.slots = append(x.slots, slot)
	}
	return number, e.costs.allow(x.bytes)
}

// receiveAll sets all slots of a message of several, and fires the rules that are then ready, in
// order.
func (e *engine) receiveAll(r int, n *node, number int32) error {
	x := e.costs.bundles.at(number)
	e.fired = e.fired[:0]
	for i, what := range x.slots {
		slot := e.numberIn(n, what)
		switch {
		case slot >= n.shape.slots:
			return fmt.Errorf("rank %d: %v in a message to it: no such slot there", r, e.slotOf(what))
		case slot < 0 || n.has(slot):
			continue
		}
		e.fired = n.assign(e.fired, slot)
		if len(x.classes) > 0 {
			n.classify(slot, x.classes[i])
		}
		if n.words[slot]&slotDone != 0 {
			e.ranks[r].undone--
		}
	}
	slices.Sort(e.fired)
	e.fireAll(r, n)
	e.mayReturn(r)
	return nil
}

// received frees a message of several slots, unless the critical path may still need it.
func (e *engine) received(number int32) {
	if number < 0 && e.path == nil {
		e.costs.bundles.drop(number)
	}
}
