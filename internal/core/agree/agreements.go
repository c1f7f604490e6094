package agree

import "slices"

// Agreements is one rank's part in the agreements of a communicator. Take its Messages after each
// step, before any other message leaves that depends on the step.
type Agreements struct {
	rank, size int
	ballots    []*ballot // known ballots, without ballots that all ranks have finished
	last       uint64    // last agreement that the process has asked for
	taken      uint64    // last agreement whose outcome the process has taken
	out        []Message `state:"scratch"` // to send
}

// Facts are what a rank knows outside of its agreements, at the time of a step.
type Facts interface {
	// Gone returns the ranks that have left or are lost, and the lost ranks alone. The caller does
	// not change the sets, which are of the size of the communicator.
	Gone() (Set, Losses)
	// Came returns how many rootless messages of rank have arrived.
	Came(rank int) uint64
	// Answers returns whose answers to open questions have arrived, ascending by origin and number.
	// Only the first MaxQuestions count.
	Answers() []Answers
	// Doubts reports whether this rank must still find out how rank has gone. It is asked about
	// ranks that have gone according to others.
	Doubts(rank int) bool
}

// New returns the agreements of a rank among size ranks.
func New(rank, size int) Agreements { return Agreements{rank: rank, size: size} }

// Begin begins the next agreement. If the process has not taken the last outcome, Begin continues
// the last agreement instead. It returns the agreement's number.
func (a *Agreements) Begin(f Facts) (number uint64) {
	if a.last == a.taken {
		a.last++
		a.forget()
	}
	a.ballot(2*a.last-1, f)
	return a.last
}

// Vote votes in the last agreement, unless this rank has done so.
func (a *Agreements) Vote(v Vote, f Facts) { a.voteIn(a.ballot(2*a.last-1, f), v, f) }

// Open makes this rank take part in the ballot about losses. It votes when it fails: see Update.
func (a *Agreements) Open(f Facts) { a.ballot(0, f) }

// Update takes in which ranks have gone. It also votes in ballots in which no process votes: in the
// ballot about losses, if there is one and this rank has failed, and in the ballot that confirms
// the last outcome. Call it after every change of the facts.
func (a *Agreements) Update(f Facts, failed bool) {
	for _, b := range a.ballots {
		a.learn(b, f)
		if b.aboutLosses() && failed {
			b.vote(Vote{}, f)
			b.raise(f) // a doubt may be resolved
		}
		a.collect(b)
	}
	if b := a.find(2*a.last - 1); a.last > 0 && b.known {
		a.voteIn(a.ballot(2*a.last, f), Vote{}, f)
	}
}

// Verdict is the result of hearing a message.
type Verdict uint8

// The verdicts about messages.
const (
	Heard    Verdict = iota // it counts
	Old                     // all ranks have finished its ballot
	Unasked                 // its sender cannot be in its ballot: it breaks the protocol
	Excluded                // others have gone on without this rank, which they take for lost
	Silent                  // the same, because this rank gave no sign of life
)

// Hear takes a message of another rank. Its Kind must be below Kinds, and the length of its body
// must Fit. Call Update afterwards if it counts.
func (a *Agreements) Hear(from int, m Message, f Facts) Verdict {
	s := contentOf(m.Kind, m.Body, a.size)
	switch {
	case s.gone.Has(a.rank) && s.losses.Silent.Has(a.rank):
		return Silent
	case s.gone.Has(a.rank):
		return Excluded
	case m.Ballot > 2*a.last+1:
		return Unasked
	case m.Ballot > 0 && m.Ballot < a.oldest():
		return Old
	}
	b := a.ballot(m.Ballot, f)
	b.heard(from, s, f)
	a.learn(b, f)
	a.collect(b)
	return Heard
}

// Said returns the ranks that have gone and that are lost, as far as a ballot knows. The sets
// belong to a.
func (a *Agreements) Said(number uint64) (Set, Losses) {
	b := a.find(number)
	if b == nil {
		return NewSet(a.size), NewLosses(a.size)
	}
	return b.gone, b.losses
}

// Remind tells the awaited ranks how far this rank is, in every ballot whose outcome is not known.
// It also tells the ranks in others, awaited or not. If every rank's others include the next rank
// alive, the news of gone ranks goes round the ring, and reaches all ranks even if unknown gone
// ranks cut the tree.
func (a *Agreements) Remind(others []int) {
	for _, b := range a.ballots {
		if b.known {
			continue
		}
		b.remind()
		for _, rank := range others {
			b.call(rank)
		}
		a.collect(b)
	}
}

// Doubted returns ranks that have gone according to others, but that this rank must ask first.
func (a *Agreements) Doubted(f Facts) []int {
	b := a.find(0)
	if b == nil || b.known {
		return nil
	}
	return b.doubted(f)
}

// TellLost tells a rank which ranks are lost by agreement, if this rank knows. The other rank may
// not know yet, and ranks that would tell it may leave, as this rank does.
func (a *Agreements) TellLost(to int) {
	if b := a.find(0); b != nil && b.known && !b.gone.Has(to) {
		b.send(to, b.outcome())
		a.collect(b)
	}
}

// Last returns the number of the last agreement that the process has asked for, or 0.
func (a *Agreements) Last() uint64 { return a.last }

// Outcome returns the outcome of an agreement; ok is false while it is not known.
func (a *Agreements) Outcome(number uint64) (o Outcome, ok bool) {
	b := a.find(2*number - 1)
	if b == nil || !b.known {
		return Outcome{}, false
	}
	a.taken = max(a.taken, number)
	return Outcome{Vote: b.is, Gone: b.apart.List(), Lost: b.dead.Lost.List()}, true
}

// Awaited returns the ranks that this rank waits for in an agreement, ascending. If votes is true,
// at least one of them has not voted, as far as this rank knows. Otherwise it is the rank that
// passes on the outcome. Awaited returns no ranks if the outcome is known.
func (a *Agreements) Awaited(number uint64) (ranks []int, votes bool) {
	if b := a.find(2*number - 1); b != nil {
		return b.awaited()
	}
	return nil, false
}

// Confirmed reports whether all remaining ranks know the last outcome that this rank knows, or the
// process has asked for no agreement.
func (a *Agreements) Confirmed() bool {
	if a.last == 0 {
		return true
	}
	b := a.find(2 * a.last)
	return b != nil && b.known
}

// LossesKnown reports whether the ranks have agreed which ranks are lost.
func (a *Agreements) LossesKnown() bool {
	b := a.find(0)
	return b != nil && b.known
}

// Losses returns the lost ranks of the outcome, the counts of messages of the first few, and the
// answers to open questions that the remaining ranks have. While there is no outcome, it returns
// only the lost ranks that this rank knows of.
func (a *Agreements) Losses() (Losses, []Came, []Answers) {
	switch b := a.find(0); {
	case b == nil:
		return NewLosses(a.size), nil, nil
	case !b.known:
		return b.losses.clone(), nil, nil
	default:
		return b.dead.clone(), b.arrivals(), b.agreed.list()
	}
}

// Messages returns the messages to send, in order, and forgets them. They are valid until the next
// step.
func (a *Agreements) Messages() []Message {
	out := a.out
	a.out = a.out[:0]
	return out
}

// oldest is the first ballot that another rank may still ask about: a rank that votes in ballot
// 2n-1 knows the outcome of ballot 2n-3.
func (a *Agreements) oldest() uint64 { return max(2*a.last, 4) - 3 }

func (a *Agreements) forget() {
	a.ballots = slices.DeleteFunc(a.ballots, func(b *ballot) bool { return !b.aboutLosses() && b.number < a.oldest() })
}

func (a *Agreements) find(number uint64) *ballot {
	for _, b := range a.ballots {
		if b.number == number {
			return b
		}
	}
	return nil
}

// ballot returns the ballot with that number, and makes it if there is none. A new ballot starts
// with all gone ranks that any other ballot knows: this rank may know of them from that ballot
// alone, and a gone rank that is alive again must not be asked to vote.
func (a *Agreements) ballot(number uint64, f Facts) *ballot {
	b := a.find(number)
	if b == nil {
		b = newBallot(number, a.rank, a.size)
		for _, other := range a.ballots {
			b.learn(other.gone, other.losses, f)
		}
		a.ballots = append(a.ballots, b)
		a.collect(b)
	}
	return b
}

// learn tells a ballot which ranks have gone.
func (a *Agreements) learn(b *ballot, f Facts) {
	if !b.known { // every tick gets here
		gone, losses := f.Gone()
		b.learn(gone, losses, f)
	}
}

func (a *Agreements) voteIn(b *ballot, v Vote, f Facts) {
	a.learn(b, f)
	b.vote(v, f)
	a.collect(b)
}

// collect takes the messages of b.
func (a *Agreements) collect(b *ballot) {
	a.out = append(a.out, b.out...)
	b.out = b.out[:0]
}
