package sim

// local is what ranks do by themselves: folds, and in the programs of a graph also work that takes
// the CPU and operations that end when others have ended.
type local struct {
	graph *graph  // nil: ranks only fold
	work  []list  // by rank: work that waits for the CPU
	ended []ended // at the current rank: operations that have ended and whose slots are not set yet
}

// ended is a slot that an operation of its rank sets. class is the class of a partial result.
type ended struct {
	slot  int32
	class uint8
}

func newLocal(g *graph, ranks int) *local { return &local{graph: g, work: make([]list, ranks)} }

func (l *local) reset() {
	clear(l.work)
	l.ended = l.ended[:0]
}

// works reports whether a rank has work that waits for the CPU.
func (e *engine) works(r int) bool { return e.local != nil && e.local.work[r].first > 0 }

// ownAction begins the work of a rule that works at its own rank, such as a fold. It returns false if
// the rule sends.
func (e *engine) ownAction(r int, n *node, w *rule) bool {
	slot, to := n.send(w.do)
	if to != toOwn {
		return false
	}
	number := slotNumber(slot, e.h.Chunks, int(e.calls[r].signals), 0)
	if e.workTime(r, slot.Index()) > 0 {
		e.lists.put(&e.local.work[r], entry{seq: e.numbers(1), what: number})
	} else {
		e.local.ended = append(e.local.ended, ended{slot: number})
	}
	return true
}

// workTime returns how long the operation of a signal takes the CPU of its rank.
func (e *engine) workTime(r, signal int) Time {
	took, fold := e.local.graph.work(r, signal)
	return took + e.costs.folding.timeOf(fold)
}

// settle sets the slots of operations that have ended, and of operations that then end.
func (e *engine) settle(r int, n *node) {
	returns := false
	for i := 0; i < len(e.local.ended); i++ {
		x := e.local.ended[i]
		if x.slot < 0 || n.has(x.slot) {
			continue // nothing waits for it, or it has come in another way
		}
		e.fired = n.assign(e.fired[:0], x.slot)
		n.classify(x.slot, x.class)
		for _, rule := range e.fired {
			e.fire(r, n, rule)
		}
		if n.words[x.slot]&slotDone != 0 {
			e.ranks[r].undone--
			returns = true
		}
	}
	e.local.ended = e.local.ended[:0]
	if returns {
		e.mayReturn(r)
	}
}

// sent sets the slot that a rank has for the send of a message, which has begun. The CPU is busy
// for everything that waits for the send until it has ended.
func (e *engine) sent(r int, slot, to int32) {
	if e.local.graph == nil {
		return
	}
	own := e.local.graph.sent(int(to), int(slot)-1-e.h.Chunks)
	if own == unheard {
		return
	}
	e.local.ended = append(e.local.ended, ended{slot: int32(1+e.h.Chunks) + own})
	e.settle(r, e.store.at(e.ranks[r].node))
}

// work begins work of a rank whose CPU is free. The CPU is busy for everything that waits for the
// work until it has ended.
func (e *engine) work(r int, now Time) {
	if e.local.graph == nil {
		e.fold(r, now)
		return
	}
	own := &e.ranks[r]
	waits := &e.local.work[r]
	slot := e.lists.at(waits.first).what
	took := e.workTime(r, int(slot)-1-e.h.Chunks)
	if e.path != nil {
		e.path.work(r, now, took)
	}
	own.cpu = now + took
	e.counts.Events++
	e.lists.dropFirst(waits)
	e.assign(r, e.store.at(own.node), slot)
	e.mayEnd(r)
}
