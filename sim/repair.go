package sim

// maxBackoff bounds the growing waits of a repair in base timeouts, as in
// runtime/core, and maxRounds how often one is made: what it puts is never lost, so
// that a repair that was made so often is for something that never comes.
const (
	maxBackoff   = 1 << maxDoublings
	maxDoublings = 6
	maxRounds    = 64
)

// arm starts the clock of a repair of which all slots are set.
func (e *engine) arm(r int, w *rule, number int32) {
	due := e.ranks[r].cpu + Time(w.after)*e.c.Repair
	e.push(key{due, e.numbers(1)}, expires, r, event{slot: number})
}

// expire makes a repair, unless it is not needed any more, and starts its clock
// again. A rank that still has to send what came about before puts it off.
func (e *engine) expire(k key, r int, x event) {
	own := &e.ranks[r]
	n := e.store.at(own.node)
	w := &n.shape.rules[x.slot]
	if n.has(w.unless) || x.from == maxRounds {
		return
	}
	made := own.rules.first == 0
	if made {
		e.counts.Repairs++
		e.queueSends(r, w)
		e.plan(r, k.at)
	}
	least := max(Time(w.after), 1)
	wait := min(least<<min(x.from, maxDoublings), max(least, maxBackoff)) * e.c.Repair
	round := x.from
	if made || round < maxDoublings { // what is put off waits longer, and is not counted: a rank may be busy for long
		round++
	}
	e.push(key{k.at + wait, e.numbers(1)}, expires, r, event{slot: x.slot, from: round})
}
