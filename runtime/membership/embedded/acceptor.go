package embedded

import "github.com/schedgen/schedgen/runtime/membership"

// ballot numbers the attempts to decide the view after a view. The first ballot of a proposer is
// its rank in the view; each later ballot is greater by a multiple of the view's size.
type ballot uint64

// proposal is a view that a member has accepted as the next one.
type proposal struct {
	Ballot ballot          `json:"ballot"`
	View   membership.View `json:"view"`
}

// acceptor is a member's memory about the view that follows the newest view it knows.
type acceptor struct {
	view     membership.View // decided
	promised ballot
	accepted *proposal
}

// answer is an acceptor's answer to a proposer.
type answer struct {
	OK       bool            `json:"ok,omitempty"`
	View     membership.View `json:"view"` // the newest view known to be decided
	Promised ballot          `json:"promised,omitempty"`
	Accepted *proposal       `json:"accepted,omitempty"`
}

// learn takes a decided view.
func (a *acceptor) learn(v membership.View) {
	if v.Epoch > a.view.Epoch {
		*a = acceptor{view: v}
	}
}

// prepare promises to accept no ballot below b for the view after base, which is decided. The
// answer contains the accepted proposal.
func (a *acceptor) prepare(base membership.View, b ballot) answer {
	if !a.promise(base, b) {
		return answer{View: a.view, Promised: a.promised}
	}
	return answer{OK: true, View: a.view, Promised: b, Accepted: a.accepted}
}

// accept accepts next as the view after base, unless a greater ballot has been promised.
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
	promised  ballot    // the greatest ballot
	accepted  *proposal // the proposal of the greatest ballot
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

// enough reports whether the agreeing members are a quorum: any two quorums have a living member in
// common, unless all members of one quorum are dead. Half of the members with the first member
// suffice only when all have been heard or waited for, since more memories are better than fewer.
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
