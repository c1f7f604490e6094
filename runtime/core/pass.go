package core

// A pass asks a rank for what is missing of the chunks that the multicast has passed
// over, from the first to the last. A request has room for few fragments, and the next
// one goes when answers to those before have come: a rank is answered as fast as the
// network takes answers. What has not come when a wait has passed is asked for by
// another pass, which may ask another rank.
type pass struct {
	open  bool // there is more to ask for
	from  int  // from this unit on
	to    int  // of chunks below
	turn  int  // whose turn it is to be asked: see asked
	asked int  // chunks below have been in a pass
	again Time // when what has not come is asked for again; 0: nothing is waited for
	mark  int  // chunks below, which had been in a pass one wait before that
	tries int  // passes that have asked again since a new gap was seen

	pending int  // fragments asked for that have not come
	recent  int  // how many were asked for since the wait began
	last    Time // when the last of them were
	came    bool // one has come since then
	vain    int  // waits in a row in which none has
	due     bool // so many have come that the next ones are asked for

	sample [2]int // the stretch of fragments of which the answer that comes first is timed; none: it is empty
	since  Time   // when they were asked for
	timed  bool   // one has come since the last tick
}

// underWay is how many requests may wait for answers when another one is made.
const underWay = 4

// certain is how wide the stretch of fragments is of which no answer at all is taken for a late
// one, not for a lost one. Not all fragments in it have been asked for.
const certain = 4

// none is no sample.
var none [2]int

// eagerTurns is how many waits in vain are no longer than the first, and for how many turns who is asked last is
// asked again.
const eagerTurns = 4

// arrived notes that fragment i has come as an answer; parts are those of a request.
func (p *pass) arrived(i, parts int) {
	p.came = true
	p.pending = max(0, p.pending-1)
	p.due = p.open && p.pending <= underWay*parts
	if p.sample[0] <= i && i < p.sample[1] {
		p.sample, p.timed = none, true
	}
}

// requested notes that n units have been asked for, from first to the one before next.
func (p *pass) requested(n, first, next int, now Time) {
	p.open, p.from = true, next
	p.pending += n
	p.recent += n
	p.last = now
	if p.sample == none && !p.timed {
		// Those in front come before the others; of those behind not all are lost, or
		// missing at the rank that is asked.
		p.sample, p.since = [2]int{(first + next) / 2, next}, now
	}
}

// asked returns whom the schedule says to ask at the given turn, from 0. The last one stays for
// eagerTurns; after that all are asked in turn, since it may have returned and have nothing any more.
// While the multicast goes on the root is spared, whose link that keeps busy, the first time: what two ranks
// that ask each other have both lost is with it alone.
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

// goOn asks for as much as may be on its way.
func (rc *recovery) goOn(o *op, now Time) {
	o.lost.gaps.pass.due = false
	for rc.askNext(o, now) {
	}
}

// askNext makes one request, of a new pass if there is none, and reports whether another
// one may follow.
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
		to = g.lost // what is lost meanwhile is of the same pass
	}
	n, next, ok := rc.wantUnits(o, from, to, o.asked(turn))
	switch {
	case !ok: // the requests before it have not left
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

// tellAtWork tells the rank whose repairs put whole chunks to this one, if the schedule says
// which that is, that this one asks for what it lacks.
func (rc *recovery) tellAtWork(o *op) {
	if r := &o.plan.recovery; r.Reports {
		rc.tellLoosely(o, int(r.ReportTo))
	}
}

// wait is how long what has been asked for is waited for.
func (rc *recovery) wait(p *pass) Time {
	return rc.asks.patience(rc.Repair) << min(max(0, p.vain-eagerTurns), maxShift)
}

// askAgain asks for what earlier requests have not brought: the datagram or the answer is
// lost, or the rank that was asked misses it too. A pass that is answered goes on first.
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
	} else { // nobody answers: another rank is asked for all of it
		p.asked = max(p.asked, p.to)
		mark = p.asked
	}
	if p.again == 0 && !(p.open && p.vain == 0) {
		p.tries++
		p.open, p.from, p.to, p.turn = true, 0, mark, p.tries
		p.sample = none // an answer would be to either request
		rc.goOn(o, now)
	}
	if p.again == 0 && (p.open || mark < p.asked) {
		p.mark, p.again = p.asked, now+rc.wait(p)
	}
}

// judge looks at the wait that is over. What was asked for before it is taken for lost.
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
		rc.asks.answers.took(d) // it takes at least so long
	}
	if late {
		p.sample = none // an answer would be to either request
	}
	p.pending, p.recent, p.came = min(p.pending, p.recent), 0, false
}

// answered reports whether what has been asked for by datagram is still to be expected:
// not after a wait in vain or, where much is missing, a second one.
func (rc *recovery) answered(o *op) bool {
	p := &o.lost.gaps.pass
	return rc.Caps.Direct && p.again != 0 && p.vain <= count(o.lost.much(o))
}

// unit returns the number of the first unit of chunk k, of those that are asked for.
func (rc *recovery) unit(o *op, k int) int {
	if !rc.Caps.Direct {
		return k
	}
	rc.layout(o)
	return int(o.frags.first[k])
}

// wantUnits is wantParts, and want where there are no datagrams to one rank.
func (rc *recovery) wantUnits(o *op, from, hi, to int) (n, next int, ok bool) {
	if rc.Caps.Direct {
		rc.layout(o)
		return rc.wantParts(o, from, hi, to)
	}
	n, ok = rc.want(o, from, hi, o.chunks, to, wasPassed)
	return n, hi, ok
}
