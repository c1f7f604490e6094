package sim

// maxBackoff bounds the growing waits of a repair in base timeouts, as in internal/core. maxRounds
// bounds how often a repair is made. A put is never lost, so a repair that was made so often is for
// something that never comes.
const (
	maxBackoff   = 1 << maxDoublings
	maxDoublings = 6
	maxRounds    = 64
)

// arm starts the clock of a repair whose When is set.
func (e *engine) arm(r int, w *rule, number int32) {
	due := e.ranks[r].cpu + Time(w.after)*e.c.Repair
	e.push(key{due, e.numbers(1)}, expires, r, event{slot: number})
}

// expire makes a repair, unless it is no longer needed, and restarts its clock. A rank that still
// has earlier sends to do postpones it, and the wait doubles as if it had been made. In
// internal/core a repair of chunks waits once more after the sends have left.
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
	// a postponed repair waits longer but is not counted, because a rank may be busy for long
	if made || round < maxDoublings {
		round++
	}
	e.push(key{k.at + wait, e.numbers(1)}, expires, r, event{slot: x.slot, from: round})
}
