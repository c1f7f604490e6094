package core

import "slices"

// ballot is one agreement at one rank. Votes go up a binomial tree of the ranks that have
// not gone, and what follows from them comes down: 2⌈log₂ ranks⌉ steps while nobody dies.
//
// Who has gone numbers the attempts: each is among the ranks that are left then, under
// the lowest of them. Who learns of another one that has gone gives up the present
// attempt and tells its neighbours in the next one, and so all learn of it. What is
// agreed on may have reached some ranks of an attempt before; these have it at once in
// the next one, whose root waits for all that are left and so hears it. No rank votes in
// two attempts of which none contains the other, so that ranks that are left never agree on
// two things (compare Herault et al., Practical scalable consensus for pseudo-synchronous
// distributed systems, SC 2015).
type ballot struct {
	size, rank int
	number     uint64
	say        func(to int, b *ballot, s *saying)
	came       func(rank int) uint64 // of whom how many rootless messages are here; nil: that is not asked
	doubt      func(rank int) bool   // whether a rank that is said to have gone may be lost; nil: nobody is asked

	voted   bool // this rank's vote is there
	own     Vote // that
	lostSet      // that this rank knows of

	gone    rankset // numbers the attempt
	above   int     // the rank above this one in it, -1 at the root
	below   []int   // those below
	missing []int   // of these, those whose votes are not there
	joined  Vote    // of those below, as far as they are there
	raised  bool    // the votes have gone up
	without rankset // who had gone when votes last went up

	known bool // what is agreed on:
	is    Vote
	apart rankset // who had gone
	dead  lostSet // who of them was lost
}

// lostSet is a set of ranks that are lost.
type lostSet struct {
	lost   rankset
	silent rankset // those of them that have given no sign of life
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

// place finds this rank's place in the tree of an attempt, that no vote has come in.
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

// vote brings in this rank's vote.
func (b *ballot) vote(v Vote) {
	if !b.voted {
		b.voted, b.own = true, v
		b.raise()
	}
}

// learn notes ranks that have gone, and those of them that are lost. Once it is known what
// is agreed on only who asks still cares.
func (b *ballot) learn(gone rankset, lost lostSet) {
	if b.known {
		return
	}
	b.lostSet.join(lost)
	b.attempt(gone)
}

// attempt begins the next one if gone has anybody new.
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

// heard takes what another rank says. What is agreed on counts whatever attempt it is told in, unless this
// rank has voted in one without from: that may have ended otherwise. Votes of an attempt
// that is over do not count: from votes again when it hears of this one.
func (b *ballot) heard(from int, s *saying) {
	b.lostSet.join(s.lostSet)
	b.attempt(s.gone)
	switch {
	case s.kind == agreeKnow && !b.known && !b.without.has(from):
		b.decide(s.vote, s.apart, s.lostSet, from)
	case b.gone.has(from):
		b.answer(from)
	case s.kind == agreeVote && !b.known && !b.gone.extends(s.gone):
		b.count(from, s.vote)
	}
}

// extends reports whether s has ranks that other has not.
func (s rankset) extends(other rankset) bool {
	for i, w := range s {
		if w&^other[i] != 0 {
			return true
		}
	}
	return false
}

// remind tells those that this rank waits for how far it is.
func (b *ballot) remind() {
	for _, r := range b.missing {
		b.answer(r)
	}
	if b.raised && b.above >= 0 {
		b.answer(b.above)
	}
}

// answer tells a rank who has gone: perhaps that rank itself, which is heard of all the same.
func (b *ballot) answer(to int) { b.tell(to, &saying{kind: agreeCall, lostSet: b.lostSet}) }

// count takes the votes of a rank below.
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

// raise sends the votes up as soon as all from below are there; the root decides.
func (b *ballot) raise() {
	if b.known || b.raised || !b.voted || len(b.missing) > 0 || len(b.doubted()) > 0 {
		return
	}
	v := b.own
	if v.came = neutral.came; b.came != nil {
		v.came = came(b.gone, b.came)
	}
	v.join(b.joined)
	b.raised, b.without = true, slices.Clone(b.gone)
	if b.above >= 0 {
		b.tell(b.above, &saying{kind: agreeVote, vote: v, lostSet: b.lostSet})
		return
	}
	b.decide(v, b.gone, b.lostSet, -1)
}

// doubted returns ranks that have gone by what others say, though this one may find that they are
// lost. It does not vote before it has.
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

// decide takes what is agreed on and passes it on, but not to where it is from.
func (b *ballot) decide(v Vote, apart rankset, lost lostSet, from int) {
	b.known, b.is, b.apart, b.dead = true, v, newRankset(b.size), newLostSet(b.size)
	b.apart.join(apart)
	b.dead.join(lost)
	b.tellAll(b.knows(), from)
}

// spans returns what is known of the messages of those that are lost.
func (b *ballot) spans() (list []Came) {
	for i, rank := range first(b.apart.list()) {
		if s := b.is.came[i]; b.dead.lost.has(rank) && 0 < s.most && s.least <= s.most {
			list = append(list, Came{rank, s.least, s.most})
		}
	}
	return list
}

func (b *ballot) knows() *saying {
	return &saying{kind: agreeKnow, vote: b.is, lostSet: b.dead, apart: b.apart}
}

// tellAll tells the neighbours in the tree, but for one.
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

func (b *ballot) clone(say func(to int, b *ballot, s *saying), came func(rank int) uint64, doubt func(rank int) bool) *ballot {
	c := *b
	c.say = say
	if b.came != nil {
		c.came, c.doubt = came, doubt
	}
	for _, set := range [...]*rankset{&c.gone, &c.without, &c.apart} {
		*set = slices.Clone(*set)
	}
	c.lostSet, c.dead = b.lostSet.clone(), b.dead.clone()
	c.below, c.missing = slices.Clone(b.below), slices.Clone(b.missing)
	return &c
}
