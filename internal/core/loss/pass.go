package loss

import "github.com/schedgen/schedgen/internal/core/internal/moment"

// A pass asks a rank for the missing chunks that the multicast has passed, from the first to the
// last. A request has room for few fragments, and the next one goes when earlier answers have
// arrived, so a rank is answered as fast as the network carries answers. After a wait, another
// pass, perhaps to another rank, asks for units that have not arrived.
//
// A unit is what a pass asks for: a fragment, or a chunk where there are no datagrams to one rank.
type pass struct {
	open  bool        // there is more to ask for
	from  int         // next unit to ask for
	to    int         // end of the chunks to ask for
	turn  int         // selects the rank to ask: see Losses.turn
	asked int         // chunks below this have been in a pass
	again moment.Time // when to ask again for units that have not arrived; 0: nothing is awaited
	mark  int         // chunks below this had been in a pass one wait before again
	tries int         // passes that have asked again since the last new gap

	pending int         // fragments asked for that have not arrived
	recent  int         // fragments asked for since the wait began
	last    moment.Time // when fragments were last asked for
	came    bool        // a fragment has arrived since then
	vain    int         // consecutive waits in which no fragment has arrived
	due     bool        // enough fragments have arrived to ask for the next ones

	sample [2]int      // range of fragments whose first answer is timed; none: empty
	since  moment.Time // when the sample was asked for
	timed  bool        // an answer in the sample has arrived since the last tick
}

// underWay is how many requests may be unanswered when another request is made.
const underWay = 4

// certain is the least width of a range of fragments whose answers cannot all be lost: if none has
// arrived, they are late. Not all fragments in the range have been asked for.
const certain = 4

// none is the empty sample.
var none [2]int

// eagerTurns is the number of waits without an answer that keep the first length, and the number of
// turns for which the last rank to ask is asked again.
const eagerTurns = 4

// arrived records that fragment i has arrived as an answer; parts is the number of fragments of a
// request.
func (p *pass) arrived(i, parts int) {
	p.came = true
	p.pending = max(0, p.pending-1)
	p.due = p.open && p.pending <= underWay*parts
	if p.sample[0] <= i && i < p.sample[1] {
		p.sample, p.timed = none, true
	}
}

// requested records that n units have been asked for, from first to next-1.
func (p *pass) requested(n, first, next int, now moment.Time) {
	p.open, p.from = true, next
	p.pending += n
	p.recent += n
	p.last = now
	if p.sample == none && !p.timed {
		// Answers to the first units arrive earlier. The later units are not all lost, or missing
		// at the rank that is asked.
		p.sample, p.since = [2]int{(first + next) / 2, next}, now
	}
}

// turn returns the rank to ask by the schedule at the given turn, from 0. After its turn, the last
// rank is asked again for eagerTurns turns. After that all ranks are asked in turn, since the last
// rank may have returned and have nothing any more. While the multicast goes on, the root is spared
// the first time, since the multicast fills its link. It is not spared for ever: if two ranks that
// ask each other have lost the same chunk, only the root has it.
func (l *Losses) turn(turn int) int {
	i := min(turn, len(l.ask)-1)
	if vain := turn - i; vain > eagerTurns {
		i = vain % len(l.ask)
	}
	if i > 0 && turn < len(l.ask) && int(l.ask[i]) == l.root && l.gaps.top < l.chunks {
		i--
	}
	return int(l.ask[i])
}

// goOn asks for as much as may be under way.
func (r *Recovery) goOn(l *Losses, now moment.Time, f Facts) {
	l.gaps.pass.due = false
	for r.askNext(l, now, f) {
	}
}

// askNext makes one request, of a new pass if there is none, and reports whether another request
// may follow.
func (r *Recovery) askNext(l *Losses, now moment.Time, f Facts) bool {
	g := &l.gaps
	p := &g.pass
	if p.pending > underWay*r.partsAtOnce() || !p.open && p.asked == g.lost {
		return false
	}
	from, to, turn := p.from, p.to, p.turn
	if !p.open {
		from, turn = r.unit(l, p.asked), 0
	}
	if turn == 0 {
		to = g.lost // chunks lost meanwhile belong to the same pass
	}
	n, next, ok := r.askUnits(l, from, to, l.turn(turn), f)
	switch {
	case !ok: // earlier requests have not left
		p.again = now + r.wait(p)
		return false
	case n == 0:
		p.open, p.asked = false, max(p.asked, to)
		return p.asked < g.lost
	}
	if turn == 0 {
		r.Lost()
		g.quiet, p.tries = now+r.silence(), 0
	}
	if p.again == 0 || turn == 0 && to == l.chunks {
		p.mark, p.again = max(p.asked, to), now+r.wait(p)
	}
	p.to, p.turn = to, turn
	p.requested(n, from, next, now)
	if r.ReportDue(l, now) {
		l.Reported(now)
		r.out = append(r.out, Output{Do: TellAtWork})
	}
	return true
}

// wait is how long to wait for the answers to a request.
func (r *Recovery) wait(p *pass) moment.Time {
	return r.patience() << min(max(0, p.vain-eagerTurns), maxShift)
}

// askAgain asks for what earlier requests have not brought: the datagram or the answer is lost, or
// the rank that was asked lacks it too. A pass with answers goes on first.
func (r *Recovery) askAgain(l *Losses, now moment.Time, f Facts) {
	p := &l.gaps.pass
	if p.again = 0; l.whole() {
		return
	}
	r.judge(p, now)
	mark := p.mark
	if p.vain == 0 {
		r.goOn(l, now, f)
	} else { // no answers: another rank is asked for all of it
		p.asked = max(p.asked, p.to)
		mark = p.asked
	}
	if p.again == 0 && !(p.open && p.vain == 0) {
		p.tries++
		p.open, p.from, p.to, p.turn = true, 0, mark, p.tries
		p.sample = none // an answer could belong to either request
		r.goOn(l, now, f)
	}
	if p.again == 0 && (p.open || mark < p.asked) {
		p.mark, p.again = p.asked, now+r.wait(p)
	}
}

// judge evaluates the wait that is over. It takes unanswered earlier requests for lost.
func (r *Recovery) judge(p *pass, now moment.Time) {
	if now-p.last >= r.patience() {
		p.recent = 0
	}
	switch {
	case p.came:
		p.vain = 0
	case p.pending > p.recent:
		p.vain++
	}
	d, late := now-p.since, p.sample != none && now-p.since >= r.patience()
	if late && (!p.came || p.sample[1]-p.sample[0] >= certain) {
		r.answers.Took(d) // answers take at least this long
	}
	if late {
		p.sample = none // an answer could belong to either request
	}
	p.pending, p.recent, p.came = min(p.pending, p.recent), 0, false
}

// answered reports whether answers by datagram are still to be expected: not after one wait without
// an answer or, if much is missing, two.
func (r *Recovery) answered(l *Losses) bool {
	p := &l.gaps.pass
	return r.cfg.Direct && p.again != 0 && (p.vain == 0 || p.vain == 1 && l.much())
}

// unit returns the first unit of chunk k.
func (r *Recovery) unit(l *Losses, k int) int {
	if !r.cfg.Direct {
		return k
	}
	return int(l.Parts.first[k])
}

// askUnits requests at rank to the first missing units of chunks below hi, beginning with number
// from. n is their number, and next the unit to go on from. ok is false if the request has to wait.
func (r *Recovery) askUnits(l *Losses, from, hi, to int, f Facts) (n, next int, ok bool) {
	if r.cfg.Direct {
		return r.askParts(l, from, hi, to, f)
	}
	n, ok = r.askChunks(l, from, hi, l.chunks, to, false, f)
	return n, hi, ok
}

// normalize forgets values that depend on durations, and counts that matter only while a pass is
// open.
func (p *pass) normalize() {
	p.vain, p.last, p.sample, p.since, p.timed = 0, 0, none, 0, false
	if !p.open {
		p.from, p.to, p.turn = 0, 0, 0
		p.pending, p.recent, p.came, p.due = 0, 0, false, false
	}
}
