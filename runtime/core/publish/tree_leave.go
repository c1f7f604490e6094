package publish

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/runtime/core/presence"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A rank that leaves passes on no more messages. Before its goodbye, it tells the ranks that send
// messages to it how many messages of each origin it has passed on. So no message is lost silently.
// If there are ranks behind the leaving rank, a sender that has sent it more messages, or has more
// to send, fails the communicator. Otherwise the sender leaves it out from then on.
//
// The messages that the leaving rank has passed on have arrived, or will arrive. Its sender asks
// the ranks behind it, in its place, whether they have arrived (see tree_flush.go).

type branchState uint8

const (
	branchThere branchState = iota
	branchLeft
	branchReplaced // the rank has left; the ranks behind it are asked in its place
	branchFoster   // a rank behind one that has left: it is asked, but gets no messages from here
)

func (b *branch) gone() bool { return b.state == branchLeft || b.state == branchReplaced }

// Farewells implements [Messages]: it tells each rank that sends messages here how many have been passed on.
func (t *tree) Farewells() {
	for rank, o := range t.origins {
		if o != nil && o.from >= 0 && len(o.branches) > 0 && o.next > o.passed {
			t.host.Put(o.from, t.control(wire.FramePassed, o.next, 0, rank))
		}
	}
}

// Parting implements [Messages]: the ranks exchange messages with this rank.
func (t *tree) Parting(dst []int) []int {
	return append(t.Overlay.Channels(dst, t.Rank), t.Sources()...)
}

// passedOn takes the number of messages that a leaving rank has passed on.
func (t *tree) passedOn(h *wire.Header) {
	if !t.isAbout(h) {
		t.host.Violation(h, "unexpected farewell about messages of origin %d", h.Arg)
		return
	}
	o := t.origin(int(h.Arg))
	b := o.branchTo(h.From)
	if b == nil || h.Seq > o.next {
		t.host.Violation(h, "unexpected farewell: %d messages of origin %d passed on", h.Seq, h.Arg)
		return
	}
	b.passed = max(b.passed, h.Seq)
}

// Left implements [Messages].
func (t *tree) Left(rank int) {
	for from, o := range t.origins {
		if o == nil {
			continue
		}
		if b := o.branchTo(rank); b != nil && !b.gone() {
			b.state = branchLeft
			t.goOn(o, from)
		}
		t.missed(o, from)
	}
}

// goOn continues without a rank that has left. A rank to which it has passed messages on may also
// have left, before the messages came. So this rank asks the ranks behind it.
func (t *tree) goOn(o *origin, rank int) {
	if t.cut(o, rank, o.next) {
		return
	}
	t.foster(o, rank)
	t.answer(o, rank)
	t.sendCredit(o, rank)
}

// maxNamed is how many ranks an error names.
const maxNamed = 8

// cut reports whether the first n messages of a rank cannot reach all ranks, because a rank that
// would pass them on has left. If so, the communicator fails.
func (t *tree) cut(o *origin, rank int, n uint64) bool {
	for i := range o.branches {
		b := &o.branches[i]
		if !b.gone() || b.via != t.Rank || n <= max(b.credit, b.here, b.passed) {
			continue
		}
		if behind := t.behind(nil, b.rank, rank, b.via); len(behind) > 0 {
			t.host.Severed("publish", b.rank, fmt.Sprintf("it should have passed on messages of rank %d to rank %s", rank, words.List(behind[:min(len(behind), maxNamed)])))
			return true
		}
	}
	return false
}

// behind appends to dst the ranks to which rank, which has left, would pass on origin's messages
// that come from rank from. In place of ranks that have left, it appends the ranks behind them.
func (t *tree) behind(dst []int, rank, origin, from int) []int {
	for _, to := range t.Overlay.Forward(nil, rank, origin, from) {
		if t.members.Gone(to) {
			dst = t.behind(dst, to, origin, rank)
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
func (t *tree) foster(o *origin, rank int) {
	for i := 0; i < len(o.branches); i++ {
		b := o.branches[i]
		if b.state != branchLeft || b.here >= o.next {
			continue
		}
		o.branches[i].state = branchReplaced
		for _, to := range t.Overlay.Forward(nil, b.rank, rank, b.via) {
			f := branch{rank: to, via: b.rank, state: branchFoster, here: b.here}
			if t.members.Gone(to) {
				f.state = branchLeft
			} else if presence.AllNear(t.Size) || f.here < o.question.asked {
				t.askBranch(&f, rank, o.next)
			}
			o.branches = append(o.branches, f)
		}
	}
}

// hears reports whether this rank and another rank tell each other when they leave.
func (t *tree) hears(other int) bool {
	return presence.Near((other-t.Rank+t.Size)%t.Size) && presence.Near((t.Rank-other+t.Size)%t.Size)
}

// missed fails the communicator if this rank is asked about messages that cannot come any more.
func (t *tree) missed(o *origin, rank int) {
	if q := &o.question; o.next < q.wanted && t.members.Gone(q.via) {
		t.host.Severed("flush", q.via, fmt.Sprintf("it has not passed on all messages of rank %d to rank %d", rank, t.Rank))
	}
}
