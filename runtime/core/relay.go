package core

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime/core/presence"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A rank that leaves passes on no more messages. Before its goodbye, it tells the ranks that send
// messages to it how many messages of each origin it has passed on. So no message is lost silently.
// If there are ranks behind the leaving rank, a sender that has sent it more messages, or has more
// to send, fails the communicator. Otherwise the sender leaves it out from then on.
//
// The messages that the leaving rank has passed on have arrived, or will arrive. Its sender asks
// the ranks behind it, in its place, whether they have arrived (see flush.go).

type branchState uint8

const (
	branchThere branchState = iota
	branchLeft
	branchReplaced // the rank has left; the ranks behind it are asked in its place
	branchFoster   // a rank behind one that has left: it is asked, but gets no messages from here
)

func (b *branch) gone() bool { return b.state == branchLeft || b.state == branchReplaced }

// farewells tells each rank that sends messages here how many have been passed on.
func (rl *rootless) farewells() {
	for rank, o := range rl.origins {
		if o != nil && o.from >= 0 && len(o.branches) > 0 && o.next > o.passed {
			rl.control(o.from, wire.FramePassed, o.next, rl.PublishPrint, uint32(rank))
		}
	}
}

// parting appends the ranks that exchange messages with this rank.
func (rl *rootless) parting(dst []int) []int {
	return append(rl.Overlay.Channels(dst, rl.Rank), rl.comeBy()...)
}

// passedOn takes the number of messages that a leaving rank has passed on.
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

// goOn continues without a rank that has left. A rank to which it has passed messages on may also
// have left, before the messages came. So this rank asks the ranks behind it.
func (rl *rootless) goOn(o *origin, rank int) {
	if rl.cut(o, rank, o.next) {
		return
	}
	rl.foster(o, rank)
	rl.answer(o, rank)
	rl.tell(o, rank)
}

// cut reports whether the first n messages of a rank cannot reach all ranks, because a rank that
// would pass them on has left. If so, it fails the core.
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

// behind appends to dst the ranks to which rank, which has left, would pass on origin's messages
// that come from rank from. In place of ranks that have left, it appends the ranks behind them.
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

// foster makes this rank ask the ranks behind a rank that has left whether the messages that it has
// passed on have arrived, unless this is known. (Credits do not tell, because they leave out ranks
// that have left.) If there are too many ranks for each to hear the goodbyes of all others, foster
// asks only if an origin flushes.
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

// hears reports whether this rank and another rank tell each other when they leave.
func (rl *rootless) hears(other int) bool {
	return presence.Near((other-rl.Rank+rl.Size)%rl.Size) && presence.Near((rl.Rank-other+rl.Size)%rl.Size)
}

// missed fails the core if this rank is asked about messages that cannot come any more.
func (rl *rootless) missed(o *origin, rank int) {
	if q := &o.question; o.next < q.wanted && rl.members.Gone(q.via) {
		rl.severed("flush", q.via, fmt.Sprintf("messages of rank %d that come by it have not come to rank %d", rank, rl.Rank))
	}
}

func (rl *rootless) severed(op string, rank int, why string) {
	rl.fate.broken(op, 0, &RankError{Rank: rank, Err: fmt.Errorf("%w: it has closed its communicator, and %s", ErrPeerLeft, why)})
}
