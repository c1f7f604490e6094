package embedded

import "github.com/schedgen/schedgen/runtime/membership"

// ballot numbers the attempts to decide what follows one view. Those of one
// proposer are its rank in the view, and then larger by the view's size each time.
type ballot uint64

// proposal is a view that a member has accepted for the next one.
type proposal struct {
	Ballot ballot          `json:"ballot"`
	View   membership.View `json:"view"`
}

// acceptor is a member's memory of what is to follow the newest view that it knows.
type acceptor struct {
	view     membership.View // decided
	promised ballot
	accepted *proposal
}

// answer is what an acceptor says to a proposer.
type answer struct {
	OK       bool            `json:"ok,omitempty"`
	View     membership.View `json:"view"` // the newest that is known to be decided
	Promised ballot          `json:"promised,omitempty"`
	Accepted *proposal       `json:"accepted,omitempty"`
}

// learn takes a view that has been decided.
func (a *acceptor) learn(v membership.View) {
	if v.Epoch > a.view.Epoch {
		*a = acceptor{view: v}
	}
}

// prepare promises to accept nothing below b for what follows base, which is decided, and says what
// has been accepted.
func (a *acceptor) prepare(base membership.View, b ballot) answer {
	if !a.promise(base, b) {
		return answer{View: a.view, Promised: a.promised}
	}
	return answer{OK: true, View: a.view, Promised: b, Accepted: a.accepted}
}

// accept takes next for what follows base, unless more has been promised.
func (a *acceptor) accept(base membership.View, b ballot, next membership.View) answer {
	if !a.promise(base, b) {
		return answer{View: a.view, Promised: a.promised}
	}
	a.accepted = &proposal{b, next}
	return answer{OK: true, View: a.view, Promised: b}
}

func (a *acceptor) promise(base membership.View, b ballot) bool {
	a.learn(base)
	if a.view.Epoch != base.Epoch || a.view.Digest() != base.Digest() || b < a.promised {
		return false
	}
	a.promised = b
	return true
}

// poll is the outcome of asking the members of a view.
type poll struct {
	yes, gone []bool    // by rank
	promised  ballot    // the highest
	accepted  *proposal // the one of the highest ballot
}

func newPoll(size int) *poll { return &poll{yes: make([]bool, size), gone: make([]bool, size)} }

// count takes the answer of rank.
func (p *poll) count(rank int, a answer) {
	p.yes[rank] = a.OK
	p.promised = max(p.promised, a.Promised)
	if a.Accepted != nil && (p.accepted == nil || a.Accepted.Ballot > p.accepted.Ballot) {
		p.accepted = a.Accepted
	}
}

// enough reports whether those that agree are a quorum: any two have a member in
// common, or all of one are dead. Half with the first member suffices only when all have been
// heard, or waited for: more memories are better than fewer.
func (p *poll) enough(all bool) bool {
	yes, silent := 0, 0
	for rank, ok := range p.yes {
		if ok {
			yes++
		} else if !p.gone[rank] {
			silent++
		}
	}
	size := len(p.yes)
	return 2*yes > size || silent == 0 && yes > 0 || all && 2*yes == size && p.yes[0]
}
