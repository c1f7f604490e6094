package core

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime/core/presence"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A rank that leaves passes no more messages on. It says goodbye to those that it gets
// messages from, and before that how many of each origin it has passed on. Nothing is lost in
// silence then: a rank that has sent it more, or is to send it more, fails the communicator, if
// there is anybody behind the one that has left. A rank with nobody behind it is
// left out from then on.
//
// What was passed on before is there, or will be. Whether it is the rank that sends to the one
// that has left asks those behind it, in its place (see flush.go).

type branchState uint8

const (
	branchThere branchState = iota
	branchLeft
	branchReplaced // it has left, and those behind it are asked in its place
	branchFoster   // one of these: it is asked, but sent no messages
)

func (b *branch) gone() bool { return b.state == branchLeft || b.state == branchReplaced }

// farewells tells those that messages come from how many have been passed on.
func (rl *rootless) farewells() {
	for rank, o := range rl.origins {
		if o != nil && o.from >= 0 && len(o.branches) > 0 && o.next > o.passed {
			rl.control(o.from, wire.FramePassed, o.next, rl.PublishPrint, uint32(rank))
		}
	}
}

// parting appends the ranks that exchange messages with this one.
func (rl *rootless) parting(dst []int) []int {
	return append(rl.Overlay.Channels(dst, rl.Rank), rl.comeBy()...)
}

// passedOn takes what a rank says that leaves.
func (rl *rootless) passedOn(h *wire.Header) {
	if !rl.aboutCasts(h) {
		rl.fate.violation(h, "farewell about messages of origin %d", h.Arg)
		return
	}
	o := rl.origin(int(h.Arg))
	b := o.branchTo(h.From)
	if b == nil || h.Seq > o.next {
		rl.fate.violation(h, "%d messages of origin %d passed on", h.Seq, h.Arg)
		return
	}
	b.passed = max(b.passed, h.Seq)
}

// left notes that a rank has left.
func (rl *rootless) left(rank int) {
	for from, o := range rl.origins {
		if o == nil {
			continue
		}
		if b := o.branchTo(rank); b != nil && !b.gone() {
			b.state = branchLeft
			rl.goOn(o, from)
		}
		rl.missed(o, from)
	}
}

// goOn does without a rank that has left what has waited for it. Of those behind it that it
// has passed messages on to one may have left as well, before they came: so they are asked.
func (rl *rootless) goOn(o *origin, rank int) {
	if rl.cut(o, rank, o.next) {
		return
	}
	rl.foster(o, rank)
	rl.answer(o, rank)
	rl.tell(o, rank)
}

// cut reports whether the first n messages of a rank cannot come to all from here, since one
// has left that they would go further by, and fails the core then.
func (rl *rootless) cut(o *origin, rank int, n uint64) bool {
	for i := range o.branches {
		b := &o.branches[i]
		if !b.gone() || b.via != rl.Rank || n <= max(b.credit, b.here, b.passed) {
			continue
		}
		if behind := rl.behind(nil, b.rank, rank, b.via); len(behind) > 0 {
			rl.severed("publish", b.rank, fmt.Sprintf("messages of rank %d go by it to rank %s", rank, list(behind[:min(len(behind), maxNamed)])))
			return true
		}
	}
	return false
}

// behind appends to dst the ranks that rank, which has left and gets origin's messages from
// another, would pass them on to, and in place of those that have left those behind them.
func (rl *rootless) behind(dst []int, rank, origin, from int) []int {
	for _, to := range rl.Overlay.Forward(nil, rank, origin, from) {
		if rl.members.Gone(to) {
			dst = rl.behind(dst, to, origin, rank)
		} else {
			dst = append(dst, to)
		}
	}
	return dst
}

// foster has this rank ask those behind ranks that have left about the messages that these
// have passed on, unless it is known already that they have come. (Credits do not say so: who
// has left is left out of them.) Among so many that not all hear of each other's goodbyes it
// does so only if somebody flushes.
func (rl *rootless) foster(o *origin, rank int) {
	for i := 0; i < len(o.branches); i++ {
		b := o.branches[i]
		if b.state != branchLeft || b.here >= o.next {
			continue
		}
		o.branches[i].state = branchReplaced
		for _, to := range rl.Overlay.Forward(nil, b.rank, rank, b.via) {
			f := branch{rank: to, via: b.rank, state: branchFoster, here: b.here}
			if rl.members.Gone(to) {
				f.state = branchLeft
			} else if rl.allNear() || f.here < o.question.asked {
				rl.ask(&f, rank, o.next)
			}
			o.branches = append(o.branches, f)
		}
	}
}

// hears reports whether this rank and another tell each other when they leave.
func (rl *rootless) hears(other int) bool {
	return presence.Near((other-rl.Rank+rl.Size)%rl.Size) && presence.Near((rl.Rank-other+rl.Size)%rl.Size)
}

// missed fails the core if messages that this rank is asked about cannot come any more.
func (rl *rootless) missed(o *origin, rank int) {
	if q := &o.question; o.next < q.wanted && rl.members.Gone(q.via) {
		rl.severed("flush", q.via, fmt.Sprintf("messages of rank %d that come by it have not come to rank %d", rank, rl.Rank))
	}
}

func (rl *rootless) severed(op string, rank int, why string) {
	rl.fate.broken(op, 0, &RankError{Rank: rank, Err: fmt.Errorf("%w: it has closed its communicator, and %s", ErrPeerLeft, why)})
}
