package core

// A pass asks a rank for the missing ones among the chunks that the multicast has passed, from the
// first to the last. A request has room for few fragments, and the next one goes when earlier
// answers have arrived, so a rank is answered as fast as the network carries answers. Another pass,
// perhaps to another rank, asks for what has not arrived after a wait.
type pass struct {
	open  bool // there is more to ask for
	from  int  // next unit to ask for
	to    int  // end of the chunks to ask for
	turn  int  // selects the rank to ask: see asked
	asked int  // chunks below this have been in a pass
	again Time // when to ask again for what has not arrived; 0: nothing is awaited
	mark  int  // chunks below this had been in a pass one wait before that
	tries int  // passes that have asked again since the last new gap

	pending int  // fragments asked for that have not arrived
	recent  int  // how many were asked for since the wait began
	last    Time // when the last of them were asked for
	came    bool // one has arrived since then
	vain    int  // consecutive waits in which none has arrived
	due     bool // enough have arrived to ask for the next ones

	sample [2]int // range of fragments whose first answer is timed; none: empty
	since  Time   // when they were asked for
	timed  bool   // one has arrived since the last tick
}

// underWay is how many requests may be unanswered when another one is made.
const underWay = 4

// certain is the least width of a range of fragments whose complete lack of answers means that they
// are late, not lost. Not all fragments in the range have been asked for.
const certain = 4

// none is the empty sample.
var none [2]int

// eagerTurns is how many waits without an answer keep the first length, and for how many turns the
// last rank to ask is asked again.
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
func (p *pass) requested(n, first, next int, now Time) {
	p.open, p.from = true, next
	p.pending += n
	p.recent += n
	p.last = now
	if p.sample == none && !p.timed {
		// Answers to the first ones arrive earlier. Of the later ones, not all are lost, or missing
		// at the rank that is asked.
		p.sample, p.since = [2]int{(first + next) / 2, next}, now
	}
}

// asked returns the rank to ask by the schedule at the given turn, from 0. After the last rank's
// turn it is asked again for eagerTurns turns. After that all are asked in turn, since the last
// rank may have returned and have nothing any more. While the multicast goes on, the root is spared
// the first time, since the multicast fills its link: only the root has what two ranks that ask
// each other have both lost.
func (o *op) asked(turn int) int {
	ask := o.plan.recovery.Ask
	i := min(turn, len(ask)-1)
	if vain := turn - i; vain > eagerTurns {
		i = vain % len(ask)
	}
	if i > 0 && turn < len(ask) && int(ask[i]) == o.root && o.lost.gaps.top < o.chunks {
		i--
	}
	return int(ask[i])
}

// goOn asks for as much as may be under way.
func (rc *recovery) goOn(o *op, now Time) {
	o.lost.gaps.pass.due = false
	for rc.askNext(o, now) {
	}
}

// askNext makes one request, of a new pass if there is none, and reports whether another one may
// follow.
func (rc *recovery) askNext(o *op, now Time) bool {
	g := &o.lost.gaps
	p := &g.pass
	if p.pending > underWay*rc.looseParts() || !p.open && p.asked == g.lost {
		return false
	}
	from, to, turn := p.from, p.to, p.turn
	if !p.open {
		from, turn = rc.unit(o, p.asked), 0
	}
	if turn == 0 {
		to = g.lost // chunks lost meanwhile belong to the same pass
	}
	n, next, ok := rc.wantUnits(o, from, to, o.asked(turn))
	switch {
	case !ok: // earlier requests have not left
		p.again = now + rc.wait(p)
		return false
	case n == 0:
		p.open, p.asked = false, max(p.asked, to)
		return p.asked < g.lost
	}
	if turn == 0 {
		rc.noteLoss()
		g.quiet, p.tries = now+rc.silence(), 0
	}
	if p.again == 0 || turn == 0 && to == o.chunks {
		p.mark, p.again = max(p.asked, to), now+rc.wait(p)
	}
	p.to, p.turn = to, turn
	p.requested(n, from, next, now)
	if now-g.told >= rc.Repair/2 {
		g.told = now
		rc.tellAtWork(o)
	}
	return true
}

// tellAtWork tells the rank whose repairs put whole chunks to this rank, if the schedule names it,
// that this rank asks for what it lacks.
func (rc *recovery) tellAtWork(o *op) {
	if r := &o.plan.recovery; r.Reports {
		rc.ops.tellLoosely(o, int(r.ReportTo))
	}
}

// wait is how long to wait for the answers to a request.
func (rc *recovery) wait(p *pass) Time {
	return rc.asks.patience(rc.Repair) << min(max(0, p.vain-eagerTurns), maxShift)
}

// askAgain asks for what earlier requests have not brought: the datagram or the answer is lost, or
// the rank that was asked lacks it too. A pass with answers goes on first.
func (rc *recovery) askAgain(o *op, now Time) {
	g := &o.lost.gaps
	p := &g.pass
	if p.again = 0; o.lost.whole(o) {
		return
	}
	rc.judge(p, now)
	mark := p.mark
	if p.vain == 0 {
		rc.goOn(o, now)
	} else { // no answers: another rank is asked for all of it
		p.asked = max(p.asked, p.to)
		mark = p.asked
	}
	if p.again == 0 && !(p.open && p.vain == 0) {
		p.tries++
		p.open, p.from, p.to, p.turn = true, 0, mark, p.tries
		p.sample = none // an answer could belong to either request
		rc.goOn(o, now)
	}
	if p.again == 0 && (p.open || mark < p.asked) {
		p.mark, p.again = p.asked, now+rc.wait(p)
	}
}

// judge evaluates the wait that is over. It takes unanswered earlier requests for lost.
func (rc *recovery) judge(p *pass, now Time) {
	if now-p.last >= rc.asks.patience(rc.Repair) {
		p.recent = 0
	}
	switch {
	case p.came:
		p.vain = 0
	case p.pending > p.recent:
		p.vain++
	}
	d, late := now-p.since, p.sample != none && now-p.since >= rc.asks.patience(rc.Repair)
	if late && (!p.came || p.sample[1]-p.sample[0] >= certain) {
		rc.asks.answers.Took(d) // answers take at least this long
	}
	if late {
		p.sample = none // an answer could belong to either request
	}
	p.pending, p.recent, p.came = min(p.pending, p.recent), 0, false
}

// answered reports whether answers by datagram are still to be expected: not after one wait without
// an answer or, if much is missing, two.
func (rc *recovery) answered(o *op) bool {
	p := &o.lost.gaps.pass
	return rc.Caps.Direct && p.again != 0 && p.vain <= count(o.lost.much(o))
}

// unit returns the first unit of chunk k. Units are fragments, or chunks without datagrams to one
// rank.
func (rc *recovery) unit(o *op, k int) int {
	if !rc.Caps.Direct {
		return k
	}
	rc.layout(o)
	return int(o.frags.first[k])
}

// wantUnits is wantParts, or want where there are no datagrams to one rank.
func (rc *recovery) wantUnits(o *op, from, hi, to int) (n, next int, ok bool) {
	if rc.Caps.Direct {
		rc.layout(o)
		return rc.wantParts(o, from, hi, to)
	}
	n, ok = rc.want(o, from, hi, o.chunks, to, wasPassed)
	return n, hi, ok
}
