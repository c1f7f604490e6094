package sim

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

// begin lets a rank call the operation. It sets the slots that are set from the beginning and fires
// the rules that wait for nothing else. The rank may send and receive from its entry on, and its
// CPU counts as busy until then. The program of a rank that does nothing yet is dropped, and made
// again when something comes.
func (e *engine) begin(r int) error {
	own := &e.ranks[r]
	n, err := e.compile(r)
	if err != nil {
		return err
	}
	if e.gate.peer == r {
		e.lists.put(&own.rules, entry{seq: e.numbers(1), what: gateRule})
	}
	fires := e.start(r, n)
	for k := range n.shape.slots {
		if n.words[k]&slotFlags == slotDone {
			own.undone++
		}
	}
	e.fireAll(r, n)
	e.mayReturn(r)
	if !fires {
		e.drop(r)
	}
	e.mayEnd(r)
	e.plan(r, 0)
	return nil
}

// compile makes a rank's program.
func (e *engine) compile(r int) (*node, error) {
	p := e.program(r)
	shape, sends, err := e.shapes.shapeOf(&p, e.h.Chunks, e.c.Repair > 0)
	if err != nil {
		return nil, err
	}
	if shape.folds && e.local == nil {
		e.local = newLocal(nil, e.h.Ranks)
	}
	own := &e.ranks[r]
	own.node, e.calls[r].signals = e.store.newNode(shape, sends), int32(p.Signals)
	return e.store.at(own.node), nil
}

// start sets what a rank has from the beginning, and leaves in e.fired the rules that then fire. It
// reports whether there are any. A root whose gate is shut has nothing yet.
func (e *engine) start(r int, n *node) bool {
	shut := e.shutFor(r)
	if e.set = e.heldSlots(e.set[:0], r, n); len(e.set) == 0 && !shut {
		copy(n.words, n.shape.entered)
		n.left = n.shape.left
		e.fired = append(e.fired[:0], n.shape.fires...)
		return len(e.fired) > 0
	}
	copy(n.words, n.shape.begin)
	if !shut {
		n.words[0] |= slotSet
		for _, slot := range e.set {
			n.words[slot] |= slotSet
		}
	}
	e.fired = n.begin(e.fired[:0])
	return len(e.fired) > 0
}

// heldSlots appends the numbers of the slots of n whose chunks rank r has when it enters.
func (e *engine) heldSlots(slots []int32, r int, n *node) []int32 {
	held := e.held(r)
	switch {
	case held.Len() == 0:
	case e.shapes.dense:
		known := n.knows()
		for i := 0; i < len(known); i += knownWords {
			if held.Has(int(known[i+knownChunk])) {
				slots = append(slots, known[i+knownSlot])
			}
		}
	default:
		for k := range held.All() {
			slots = append(slots, int32(1+k))
		}
	}
	return slots
}

// numberIn returns the number of a slot in n, given the number that a message carries. It returns
// -1 if n does not need the slot.
func (e *engine) numberIn(n *node, what int32) int32 {
	signals := int32(e.h.Chunks) // enter and the chunks have the numbers up to this one
	values := signals + ir.MaxSignals
	switch {
	case what > values:
		return what - values + n.shape.chunks + n.shape.signals
	case what > signals+n.shape.signals:
		return n.shape.slots // there is no such signal
	case e.shapes.dense:
		return n.local(what, e.h.Chunks)
	}
	return what
}

// drop discards a rank's program.
func (e *engine) drop(r int) {
	if own := &e.ranks[r]; own.node > 0 {
		e.store.drop(own.node)
		own.node = 0
	}
}

// node returns a rank's program. It makes the program again if it was dropped.
func (e *engine) node(r int) (*node, error) {
	own := &e.ranks[r]
	if own.node > 0 {
		return e.store.at(own.node), nil
	}
	n, err := e.compile(r)
	if err == nil {
		e.start(r, n)
	}
	return n, err
}

// send begins the next send of a rank, which must be free for it.
func (e *engine) send(r int, now Time) error {
	own := &e.ranks[r]
	slot, to, last, err := e.nextSend(r)
	if err != nil {
		return err
	}
	e.counts.Sends++
	e.counts.Events++
	from, c := int32(r), e.costs.costOf(slot, r, int(to))
	if e.path != nil {
		from = e.path.send(own, r, now, c, slot, to)
	}
	own.cpu, own.out = now+c.sendCPU, now+c.out
	if last {
		own.cpu += c.check
		e.lists.dropFirst(&own.rules)
	} else {
		e.lists.at(own.rules.first).advance()
	}
	if err := e.transmit(r, int(to), now, c, event{slot, from}); err != nil {
		return err
	}
	if e.local != nil {
		e.sent(r, slot, to)
	}
	if last {
		e.mayReturn(r)
	}
	e.mayEnd(r)
	return nil
}

// nextSend returns a rank's next send: the number of a slot or of a bundle, and the rank or toAll.
// last says that it is the last send of its rule.
func (e *engine) nextSend(r int) (slot, to int32, last bool, err error) {
	own := &e.ranks[r]
	rule := e.lists.at(own.rules.first)
	if rule.what == gateRule {
		return 0, int32(e.h.Root), true, nil
	}
	s, to := e.store.at(own.node).send(rule.what)
	if slot = e.slotAt(s, to); slot < 0 {
		if slot, err = e.bundle(r, s, to); err != nil {
			return 0, 0, false, err
		}
	}
	return slot, to, rule.what+1 == rule.from, nil
}

// noSlot returns the error of a send to a rank that does not have the slot.
func noSlot(r int, s ir.Slot, to int32) error {
	return fmt.Errorf("rank %d: %v of %v to rank %d: no such slot there", r, opOf(to), s, max(to, 0))
}

// slotAt returns the number of a slot of the destination rank, or of all ranks. It returns -1 if
// there is none. Whether a rank has a signal is checked when the signal comes.
func (e *engine) slotAt(slot ir.Slot, to int32) int32 {
	switch {
	case to == toAll && slot.Kind() != ir.KindChunk, slot.Kind() == ir.KindEnter:
		return -1
	case to == toAll:
		return slotNumber(slot, e.h.Chunks, 0, 0)
	case to < 0 || int(to) >= len(e.ranks):
		return -1
	}
	return slotNumber(slot, e.h.Chunks, ir.MaxSignals, ir.MaxValues)
}

// transmit sends a message on its way. It fails if no way leads to its rank.
func (e *engine) transmit(r, to int, now Time, c *cost, x event) error {
	k, kind := key{now + c.latency, e.numbers(1)}, arrives
	if to == toAll {
		e.counts.Mcasts++
		kind, to = casts, r
	}
	if e.net != nil {
		return e.depart(k, kind, r, to, now+c.sendCPU, x)
	}
	if !e.costs.near(r, to) || kind == casts {
		k.at += e.saturate(now, c.out, e.costs.lengthOf(x.slot, to))
	}
	if kind == casts {
		k.at += e.c.Fanout
	}
	switch {
	case kind == casts && e.c.Noise > 0:
		e.scatter(k, r, x)
	case kind == casts:
		e.push(k, kind, r, x)
	default:
		k.at += e.noise(k.seq, to)
		e.push(k, kind, to, x)
	}
	return nil
}

// noise draws the random delay of a message to a rank.
func (e *engine) noise(seq uint64, to int) Time {
	if e.c.Noise == 0 {
		return 0
	}
	return upTo(draw(e.seed, drawNoise, seq, uint64(to)), e.c.Noise)
}

// scatter sends a multicast to each rank separately.
func (e *engine) scatter(k key, r int, x event) {
	for to := range e.ranks {
		if to != r {
			e.deliver(k, to, x)
		}
	}
}

// deliver sends one copy of a multicast to its rank, unless the rank loses it.
func (e *engine) deliver(k key, to int, x event) {
	k.at += e.noise(k.seq, to)
	if !e.loses(k, to) {
		e.push(k, arrives, to, x)
	}
}

// receive begins to receive a message at a rank, which must be free for it.
func (e *engine) receive(r int, now Time, x entry) error {
	own := &e.ranks[r]
	c := e.costs.costOf(x.what, e.sender(x.from), r)
	if e.path != nil {
		e.path.receive(own, r, now, c, x)
	}
	own.cpu, own.in = now+c.recvCPU, now+c.in
	e.counts.Received++
	e.counts.Events++
	if own.node == 0 && int(x.what) <= e.h.Chunks+int(e.calls[r].signals) && e.calls[r].over {
		e.received(x.what)
		return nil
	}
	n, err := e.node(r)
	if err != nil {
		return err
	}
	if x.what < 0 {
		err = e.receiveAll(r, n, x.what)
		e.received(x.what)
	} else if x.what == 0 {
		e.open(r, n)
	} else if slot := e.numberIn(n, x.what); slot >= n.shape.slots {
		return noSlot(e.sender(x.from), e.slotOf(x.what), int32(r))
	} else if slot >= 0 && !n.has(slot) {
		e.assign(r, n, slot)
	}
	e.mayEnd(r)
	return err
}

// assign sets a slot of a rank and fires the rules that waited only for it.
func (e *engine) assign(r int, n *node, slot int32) {
	e.fired = n.assign(e.fired[:0], slot)
	e.fireAll(r, n)
	if n.words[slot]&slotDone != 0 {
		e.ranks[r].undone--
		e.mayReturn(r)
	}
}

// fireAll fires the rules in e.fired, and sets what their folds have made at once.
func (e *engine) fireAll(r int, n *node) {
	for _, rule := range e.fired {
		e.fire(r, n, rule)
	}
	if e.local != nil {
		e.settle(r, n)
	}
}

// fire queues the sends of a rule, which begin when the rank can, or starts the clock of a repair.
func (e *engine) fire(r int, n *node, number int32) {
	w := &n.shape.rules[number]
	if w.unless >= 0 {
		e.arm(r, w, number)
		return
	}
	if e.local != nil && (w.folds && e.startFolds(r, n, w) || e.local.graph != nil && e.ownAction(r, n, w)) {
		return
	}
	e.queueSends(r, w)
}

// queueSends queues the sends of a rule.
func (e *engine) queueSends(r int, w *rule) {
	e.lists.put(&e.ranks[r].rules, entry{seq: e.numbers(w.end - w.do), what: w.do, from: w.end})
}

// mayReturn records when a rank's call returns: what the CPU does now is the last thing for which
// the call waits.
func (e *engine) mayReturn(r int) {
	own := &e.ranks[r]
	if own.undone == 0 && own.rules.first == 0 && e.calls[r].returns == Never && !e.shutFor(r) && !e.works(r) {
		e.calls[r].returns = own.cpu
		if e.path != nil {
			e.path.ranks[r].returned = e.path.ranks[r].cpu
		}
	}
}

// mayEnd discards the program of a rank that has returned and whose rules have all fired. Later
// messages are received and change nothing.
func (e *engine) mayEnd(r int) {
	own := &e.ranks[r]
	if own.node > 0 && own.undone == 0 && own.rules.first == 0 && e.calls[r].returns != Never && e.c.Repair == 0 && e.store.at(own.node).left == 0 && !e.works(r) {
		e.calls[r].over = true
		e.drop(r)
	}
}

// sender returns the rank that has sent a message.
func (e *engine) sender(from int32) int {
	if e.path != nil {
		return int(e.path.ops[from].rank)
	}
	return int(from)
}

// slotsOf returns the slots of a message, by the number of its slot or its bundle.
func (e *engine) slotsOf(number int32) []ir.Slot {
	if number >= 0 {
		return []ir.Slot{e.slotOf(number)}
	}
	var slots []ir.Slot
	for _, what := range e.costs.bundles.at(number).slots {
		slots = append(slots, e.slotOf(what))
	}
	return slots
}

// slotOf returns the slot with the given number.
func (e *engine) slotOf(number int32) ir.Slot {
	switch i := int(number) - 1; {
	case i < 0:
		return ir.Enter
	case i < e.h.Chunks:
		return ir.Chunk(i)
	case i < e.h.Chunks+ir.MaxSignals:
		return ir.Signal(i - e.h.Chunks)
	default:
		return ir.Value(i - e.h.Chunks - ir.MaxSignals)
	}
}
