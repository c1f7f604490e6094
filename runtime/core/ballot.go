package core

import "slices"

// ballot is one agreement at one rank. Votes go up a binomial tree of the ranks that have not gone,
// and the outcome comes down: 2⌈log₂ ranks⌉ steps while no rank dies.
//
// A ballot makes attempts. The set of gone ranks identifies an attempt, which runs among the
// remaining ranks with the lowest of them as the root. A rank that learns of another gone rank
// abandons its attempt and tells its neighbours in the next one, so all ranks learn of it. Some
// ranks may already know the outcome of an earlier attempt. They keep it in the next attempt, and
// the next root, which waits for all remaining ranks, hears it. No rank votes in two attempts
// unless the gone ranks of one contain those of the other, so remaining ranks never agree on two
// outcomes (compare Herault et al., Practical scalable consensus for pseudo-synchronous distributed
// systems, SC 2015).
type ballot struct {
	size, rank int
	number     uint64
	say        func(to int, b *ballot, s *saying)
	came       func(rank int) uint64 // how many rootless messages of a rank are here; nil: the ballot does not ask
	questions  func() answers        // whose answers to open questions are here; nil: the ballot does not ask
	doubt      func(rank int) bool   // whether a rank that is said to have gone may be lost; nil: no doubt

	voted   bool    // this rank has voted
	own     Vote    // this rank's vote
	lostSet         // lost ranks that this rank knows of
	answers answers // whose answers to open questions are at ranks that this rank has heard of

	gone    rankset // identifies the attempt
	above   int     // parent in the tree, -1 at the root
	below   []int   // children
	missing []int   // children whose votes are missing
	joined  Vote    // the votes of the children so far
	raised  bool    // the votes have been sent up
	without rankset // gone ranks when votes were last sent up

	known  bool // the outcome is known; the fields below hold it
	is     Vote
	apart  rankset // gone ranks of the outcome
	dead   lostSet // lost ranks of the outcome
	agreed answers // the answers of the outcome
}

// lostSet is a set of lost ranks.
type lostSet struct {
	lost   rankset
	silent rankset // those of lost that have given no sign of life
}

func newLostSet(size int) lostSet { return lostSet{newRankset(size), newRankset(size)} }

func (l *lostSet) join(other lostSet) {
	l.lost.join(other.lost)
	l.silent.join(other.silent)
}

func (l lostSet) clone() lostSet { return lostSet{slices.Clone(l.lost), slices.Clone(l.silent)} }

func newBallot(number uint64, rank, size int, say func(to int, b *ballot, s *saying)) *ballot {
	b := &ballot{size: size, rank: rank, number: number, say: say, lostSet: newLostSet(size), gone: newRankset(size), without: newRankset(size)}
	b.place()
	return b
}

// place finds this rank's place in the tree of a new attempt, and resets its votes.
func (b *ballot) place() {
	left := make([]int, 0, b.size)
	at := 0
	for r := range b.size {
		if r == b.rank {
			at = len(left)
		}
		if !b.gone.has(r) {
			left = append(left, r)
		}
	}
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

// vote adds this rank's vote.
func (b *ballot) vote(v Vote) {
	if !b.voted {
		b.voted, b.own = true, v
		b.raise()
	}
}

// learn records gone ranks, and which of them are lost. When the outcome is known, only ranks that
// ask still need it.
func (b *ballot) learn(gone rankset, lost lostSet) {
	if b.known {
		return
	}
	b.lostSet.join(lost)
	b.attempt(gone)
}

// attempt begins the next attempt if gone has a new rank.
func (b *ballot) attempt(gone rankset) {
	if !b.gone.join(gone) {
		return
	}
	b.place()
	s := &saying{kind: agreeCall, lostSet: b.lostSet}
	if b.known {
		s = b.knows()
	}
	b.tellAll(s, -1)
	b.raise()
}

// heard takes a message of another rank. An outcome counts whatever its attempt, unless this rank
// has voted in an attempt without rank from, which may have ended otherwise. A vote of an old
// attempt does not count: from votes again when it hears of the current attempt.
func (b *ballot) heard(from int, s *saying) {
	b.lostSet.join(s.lostSet)
	b.attempt(s.gone)
	switch {
	case s.kind == agreeKnow && !b.known && !b.without.has(from):
		b.answers = b.answers.join(s.answers)
		b.decide(s.vote, s.apart, s.lostSet, s.answers, from)
	case b.gone.has(from):
		b.answer(from)
	case s.kind == agreeVote && !b.known && !b.gone.extends(s.gone):
		b.answers = b.answers.join(s.answers)
		b.count(from, s.vote)
	}
}

// extends reports whether s has a rank that other has not.
func (s rankset) extends(other rankset) bool {
	for i, w := range s {
		if w&^other[i] != 0 {
			return true
		}
	}
	return false
}

// remind tells the awaited ranks how far this rank is.
func (b *ballot) remind() {
	for _, r := range b.missing {
		b.answer(r)
	}
	if b.raised && b.above >= 0 {
		b.answer(b.above)
	}
}

// answer tells rank to which ranks have gone, even if rank to is among them.
func (b *ballot) answer(to int) { b.tell(to, &saying{kind: agreeCall, lostSet: b.lostSet}) }

// count adds the votes of a child's subtree.
func (b *ballot) count(from int, v Vote) {
	for i, r := range b.missing {
		if r != from {
			continue
		}
		b.missing = slices.Delete(b.missing, i, i+1)
		b.joined.join(v)
	}
	b.raise()
}

// raise sends the votes up when all children's votes are there; the root decides.
func (b *ballot) raise() {
	if b.known || b.raised || !b.voted || len(b.missing) > 0 || len(b.doubted()) > 0 {
		return
	}
	v := b.own
	if v.came = neutral.came; b.came != nil {
		v.came = came(b.gone, b.came)
		b.answers = b.answers.join(b.questions())
	}
	v.join(b.joined)
	b.raised, b.without = true, slices.Clone(b.gone)
	if b.above >= 0 {
		b.tell(b.above, &saying{kind: agreeVote, vote: v, lostSet: b.lostSet, answers: b.answers})
		return
	}
	b.decide(v, b.gone, b.lostSet, b.answers, -1)
}

// doubted returns ranks that have gone according to others, but that this rank may still find to be
// lost. This rank does not vote before it has found out.
func (b *ballot) doubted() (list []int) {
	if b.doubt == nil {
		return nil
	}
	for _, rank := range b.gone.list() {
		if !b.lost.has(rank) && b.doubt(rank) {
			list = append(list, rank)
		}
	}
	return list
}

// decide takes the outcome and passes it on to all neighbours except from.
func (b *ballot) decide(v Vote, apart rankset, lost lostSet, all answers, from int) {
	b.known, b.is, b.apart, b.dead = true, v, newRankset(b.size), newLostSet(b.size)
	b.apart.join(apart)
	b.dead.join(lost)
	b.agreed = all
	b.tellAll(b.knows(), from)
}

// spans returns the known counts of the messages of lost ranks.
func (b *ballot) spans() (list []Came) {
	for i, rank := range first(b.apart.list()) {
		if s := b.is.came[i]; b.dead.lost.has(rank) && 0 < s.most && s.least <= s.most {
			list = append(list, Came{rank, s.least, s.most})
		}
	}
	return list
}

func (b *ballot) knows() *saying {
	return &saying{kind: agreeKnow, vote: b.is, lostSet: b.dead, apart: b.apart, answers: b.agreed}
}

// tellAll tells all neighbours in the tree except rank but.
func (b *ballot) tellAll(s *saying, but int) {
	if b.above >= 0 && b.above != but {
		b.tell(b.above, s)
	}
	for _, r := range b.below {
		if r != but {
			b.tell(r, s)
		}
	}
}

func (b *ballot) tell(to int, s *saying) {
	s.gone = b.gone
	b.say(to, b, s)
}

func (b *ballot) clone(say func(to int, b *ballot, s *saying)) *ballot {
	c := *b
	c.say = say
	for _, set := range [...]*rankset{&c.gone, &c.without, &c.apart} {
		*set = slices.Clone(*set)
	}
	c.lostSet, c.dead = b.lostSet.clone(), b.dead.clone()
	c.below, c.missing = slices.Clone(b.below), slices.Clone(b.missing)
	return &c
}
