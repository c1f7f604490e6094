package agree

import "slices"

// ballot is one agreement at one rank. Votes go up a binomial tree of the ranks that have not gone,
// and the outcome comes down: 2⌈log₂ ranks⌉ steps while no rank dies.
//
// A ballot makes attempts. The set of gone ranks identifies an attempt, which runs among the
// remaining ranks with the lowest of them as the root. A rank that learns of another gone rank
// abandons its attempt and tells its neighbours in the next one, so all ranks learn of it. Some
// ranks may already know the outcome of an earlier attempt. They keep it in the next attempt, and
// the next root, which waits for all remaining ranks, hears it. A rank votes in two attempts only
// if the gone ranks of one contain the gone ranks of the other. So remaining ranks never agree on
// two outcomes (compare Herault et al., Practical scalable consensus for pseudo-synchronous
// distributed systems, SC 2015).
type ballot struct {
	size, rank int
	number     uint64
	out        []Message `state:"scratch"` // to send

	voted   bool    // this rank has voted
	own     Vote    // this rank's vote
	losses  Losses  // lost ranks that this rank knows of
	answers answers // answers to open questions that have arrived at some rank, as far as known

	gone    Set   // identifies the attempt
	above   int   // parent in the tree, -1 at the root
	below   []int // children
	missing []int // children whose votes are missing
	joined  Vote  // the votes of the children so far
	raised  bool  // the votes have been sent up
	without Set   // gone ranks when votes were last sent up

	known  bool // the outcome is known; the fields below hold it
	is     Vote
	apart  Set     // gone ranks of the outcome
	dead   Losses  // lost ranks of the outcome
	agreed answers // the answers of the outcome
}

func newBallot(number uint64, rank, size int) *ballot {
	b := &ballot{size: size, rank: rank, number: number, losses: NewLosses(size), gone: NewSet(size), without: NewSet(size)}
	b.place()
	return b
}

// aboutLosses reports whether b is the ballot about losses. Ranks count rootless messages, tell
// whose answers they have, and doubt that others have gone only in this ballot.
func (b *ballot) aboutLosses() bool { return b.number == 0 }

// place finds this rank's place in the tree of a new attempt, and resets its votes.
func (b *ballot) place() {
	left, at := b.left()
	b.above, b.below = -1, nil
	if at > 0 {
		b.above = left[at&(at-1)]
	}
	for bit := 1; at+bit < len(left) && at&bit == 0; bit <<= 1 {
		b.below = append(b.below, left[at+bit])
	}
	b.missing = slices.Clone(b.below)
	b.joined, b.raised = neutral, false
}

// left returns the ranks that have not gone, ascending, and this rank's place among them.
func (b *ballot) left() (ranks []int, at int) {
	ranks = make([]int, 0, b.size)
	for r := range b.size {
		if r == b.rank {
			at = len(ranks)
		}
		if !b.gone.Has(r) {
			ranks = append(ranks, r)
		}
	}
	return ranks, at
}

// awaited returns the ranks that this rank waits for, ascending. If votes is true, they are the
// ranks of the sub-trees whose votes are missing. Otherwise it is the rank that passes on the
// outcome.
func (b *ballot) awaited() (ranks []int, votes bool) {
	switch {
	case b.known:
		return nil, false
	case len(b.missing) == 0 && b.above >= 0:
		return []int{b.above}, false
	}
	left, at := b.left()
	for bit := 1; at+bit < len(left) && at&bit == 0; bit <<= 1 {
		if slices.Contains(b.missing, left[at+bit]) {
			ranks = append(ranks, left[at+bit:min(at+2*bit, len(left))]...)
		}
	}
	return ranks, true
}

// vote adds this rank's vote.
func (b *ballot) vote(v Vote, f Facts) {
	if !b.voted {
		b.voted, b.own = true, v
		b.raise(f)
	}
}

// learn records gone ranks, and which of them are lost. When the outcome is known, only ranks that
// ask still need it.
func (b *ballot) learn(gone Set, losses Losses, f Facts) {
	if b.known {
		return
	}
	b.losses.join(losses)
	b.attempt(gone, f)
}

// attempt begins the next attempt if gone has a new rank.
func (b *ballot) attempt(gone Set, f Facts) {
	if !b.gone.Join(gone) {
		return
	}
	b.place()
	s := &content{kind: Call, losses: b.losses}
	if b.known {
		s = b.outcome()
	}
	b.tellAll(s, -1)
	b.raise(f)
}

// heard takes a message of another rank. An outcome counts whatever its attempt, unless this rank
// has voted in an attempt without rank from, which may have ended otherwise. A vote of an old
// attempt does not count: rank from votes again when it hears of the current attempt.
func (b *ballot) heard(from int, s *content, f Facts) {
	b.losses.join(s.losses)
	b.attempt(s.gone, f)
	switch {
	case s.kind == Know && !b.known && !b.without.Has(from):
		b.answers = b.answers.join(s.answers)
		b.decide(s.vote, s.apart, s.losses, s.answers, from)
	case b.gone.Has(from):
		b.call(from)
	case s.kind == Tally && !b.known && !b.gone.Exceeds(s.gone):
		b.answers = b.answers.join(s.answers)
		b.count(from, s.vote, f)
	}
}

// remind tells the awaited ranks how far this rank is.
func (b *ballot) remind() {
	for _, r := range b.missing {
		b.call(r)
	}
	if b.raised && b.above >= 0 {
		b.call(b.above)
	}
}

// call tells another rank which ranks have gone, even if it is among them.
func (b *ballot) call(to int) { b.send(to, &content{kind: Call, losses: b.losses}) }

// count adds the votes of a child's subtree.
func (b *ballot) count(from int, v Vote, f Facts) {
	if i := slices.Index(b.missing, from); i >= 0 {
		b.missing = slices.Delete(b.missing, i, i+1)
		b.joined.join(v)
	}
	b.raise(f)
}

// raise sends the votes up when all children's votes are there; the root decides.
func (b *ballot) raise(f Facts) {
	if b.known || b.raised || !b.voted || len(b.missing) > 0 || len(b.doubted(f)) > 0 {
		return
	}
	v := b.own
	if v.came = neutral.came; b.aboutLosses() {
		v.came = spansOf(b.gone, f)
		b.answers = b.answers.join(answersAmong(b.size, f.Answers()))
	}
	v.join(b.joined)
	b.raised, b.without = true, slices.Clone(b.gone)
	if b.above >= 0 {
		b.send(b.above, &content{kind: Tally, vote: v, losses: b.losses, answers: b.answers})
		return
	}
	b.decide(v, b.gone, b.losses, b.answers, -1)
}

// doubted returns ranks that have gone according to others, but that this rank may still find to be
// lost. This rank does not vote before it has found out.
func (b *ballot) doubted(f Facts) (list []int) {
	if !b.aboutLosses() {
		return nil
	}
	for _, rank := range b.gone.List() {
		if !b.losses.Lost.Has(rank) && f.Doubts(rank) {
			list = append(list, rank)
		}
	}
	return list
}

// decide takes the outcome and passes it on to all neighbours except rank from.
func (b *ballot) decide(v Vote, apart Set, lost Losses, all answers, from int) {
	b.known, b.is, b.apart, b.dead = true, v, NewSet(b.size), NewLosses(b.size)
	b.apart.Join(apart)
	b.dead.join(lost)
	b.agreed = all
	b.tellAll(b.outcome(), from)
}

// arrivals returns the known counts of the messages of lost ranks.
func (b *ballot) arrivals() (list []Came) {
	for i, rank := range counted(b.apart) {
		if s := b.is.came[i]; b.dead.Lost.Has(rank) && 0 < s.most && s.least <= s.most {
			list = append(list, Came{rank, s.least, s.most})
		}
	}
	return list
}

func (b *ballot) outcome() *content {
	return &content{kind: Know, vote: b.is, losses: b.dead, apart: b.apart, answers: b.agreed}
}

// tellAll tells all neighbours in the tree except rank but.
func (b *ballot) tellAll(s *content, but int) {
	if b.above >= 0 && b.above != but {
		b.send(b.above, s)
	}
	for _, r := range b.below {
		if r != but {
			b.send(r, s)
		}
	}
}

// send sends s, encoded as of now, since the sets in s may still grow.
func (b *ballot) send(to int, s *content) {
	s.gone = b.gone
	b.out = append(b.out, Message{To: to, Ballot: b.number, Kind: s.kind, Body: s.body(b.size)})
}
