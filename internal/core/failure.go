package core

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/internal/core/agree"
	"github.com/schedgen/schedgen/internal/core/mismatch"
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/runtime/wire"
)

// failure is the end of a core. An operation cannot fail at one rank alone: a rank that cannot
// complete it tells all ranks why. The reason goes down a binomial tree with that rank as the root,
// around ranks known to have gone. If an unknown gone rank cuts the tree, a rank below it learns
// the reason from the neighbour that it probes, or from the goodbye of a rank that leaves.
type failure struct {
	*env
	members *presence.Roster
	err     error
	why     reason // the reason of err for other ranks
	seq     uint64 // last operation that this rank has entered
	closing bool
	orderly bool // closed in good order: the goodbye tells the others
	dispute mismatch.Dispute
	told    map[int]bool    // ranks that have asked since the end, and learn the reason outside the tree
	passed  map[uint32]bool // origins whose reason has been passed on
}

// fail ends the core with err. If tell is set, it tells all ranks.
func (f *failure) fail(err error, tell bool) {
	if f.err == nil {
		f.end(err, f.reasonOf(err), tell)
	}
}

// end ends the core with err and the reason why.
func (f *failure) end(err error, why reason, tell bool) {
	f.err, f.why = err, why
	if tell {
		f.spread(&f.why)
	}
}

// close ends a core. If inside is set, others cannot complete an operation without this rank, and
// close tells all ranks. If not, only the goodbye tells them. A goodbye does not fail a rank that
// can go on without this one.
func (f *failure) close(err error, inside bool) {
	f.closing = true
	if f.err != nil {
		return
	}
	when := "after"
	if inside {
		when = "inside"
	}
	f.orderly = !inside
	f.end(err, f.reasonOf(f.with(fmt.Errorf("%w: it closed its communicator %s operation %d", ErrPeerLeft, when, f.seq))), inside)
}

// spread passes r on to the children of this rank in the tree of r's origin.
func (f *failure) spread(r *reason) {
	for _, child := range f.members.Children(nil, r.origin, f.Rank, f.Size) {
		f.tellReason(child, r)
	}
}

func (f *failure) tellReason(to int, r *reason) {
	fr := &f.frame
	*fr = wire.Frame{Header: wire.Header{Epoch: f.Epoch, Seq: f.seq, From: f.Rank}}
	r.put(fr)
	f.put(to, fr)
}

// answer tells the reason, once, to a rank that still waits although this rank has failed, or may
// be about to ask. If this rank has closed in good order, the goodbye is the answer.
func (f *failure) answer(rank int) {
	if f.told[rank] {
		return
	}
	if f.told == nil {
		f.told = make(map[int]bool)
	}
	f.told[rank] = true
	if !f.orderly {
		f.tellReason(rank, &f.why)
	}
}

// heard takes another rank's reason and passes it on.
func (f *failure) heard(h *wire.Header, text []byte) {
	r, _ := f.reasonIn(h) // Body has checked it
	if f.passed[h.Arg] || r.origin == f.Rank {
		return
	}
	if f.passed == nil {
		f.passed = make(map[uint32]bool)
	}
	f.passed[h.Arg] = true
	r.text = string(text)
	if r.about == r.origin && f.isLoss(&r) && !f.members.Gone(r.about) {
		f.recordLoss(r.about, f.kindOf(r.cause)) // that rank has been told in another communicator
	}
	if f.err == nil {
		f.end(f.errorOf(&r), r, false)
	}
	f.spread(&r)
}

// broken fails the core because of operation seq of the call name.
func (f *failure) broken(name string, seq uint64, err error) {
	f.fail(&OpError{Op: name, Rank: f.Rank, Epoch: f.Epoch, Seq: seq, Err: err}, true)
}

// violation fails the core because of a frame. The transport has checked the frame, so the fault is
// the peer's, not the network's.
func (f *failure) violation(h *wire.Header, format string, args ...any) {
	f.fail(&RankError{
		Rank: h.From, Err: fmt.Errorf("%w: operation %d: %s", ErrProtocol, h.Seq, fmt.Sprintf(format, args...)),
	}, true)
}

// refused fails the core because the system refuses this rank a resource.
func (f *failure) refused(err error) {
	f.fail(&RankError{Rank: f.Rank, Err: fmt.Errorf("%w: %w", ErrRefused, err)}, true)
}

// lost fails the core because a rank is dead.
func (f *failure) lost(rank int, err error) { f.lose(rank, fmt.Errorf("%w: %w", ErrPeerLost, err)) }

func (f *failure) lose(rank int, err error) {
	f.recordLoss(rank, err)
	f.fail(&RankError{Rank: rank, Err: err}, true)
}

// recordLoss records that a rank is lost.
func (f *failure) recordLoss(rank int, err error) {
	known := f.members.Lost(rank)
	f.members.Lose(rank, errors.Is(err, ErrPeerSilent))
	if f.Lost != nil && !known {
		f.Lost(rank, err)
	}
}

// isLoss reports whether r says that a rank is lost.
func (f *failure) isLoss(r *reason) bool { return errors.Is(f.kindOf(r.cause), ErrPeerLost) }

// silent fails the core because a rank has been silent for too long, although its connections
// stand. It tells the silent rank too. If that rank goes on, it reads this, whatever else it hears
// of lost ranks.
func (f *failure) silent(rank int, silence Time) {
	err := &RankError{Rank: rank, Err: fmt.Errorf("%w for %v s", ErrPeerSilent, float64(silence)/1e9)}
	f.lose(rank, err.Err)
	why := f.reasonOf(err)
	f.tellReason(rank, &why)
}

// hearsay fails the core because another rank says which ranks are lost or have gone.
func (f *failure) hearsay(from int, l agree.Losses, gone agree.Set) {
	if all := append(l.Lost.List(), gone.List()...); len(all) > 0 {
		f.fail(&RankError{Rank: all[0], Err: fmt.Errorf("%w: rank %d says so", lossOf(l, all[0]), from)}, true)
	}
}

// closedEarly fails the core because a rank has closed its communicator, which had failed or was
// inside an operation, and has not said why.
func (f *failure) closedEarly(rank int) {
	f.fail(&RankError{Rank: rank, Err: fmt.Errorf("%w: it has closed its communicator, which had failed or was inside an operation", ErrPeerLeft)}, true)
}

// strange fails the core because of a frame of another version of the membership.
func (f *failure) strange(h *wire.Header) {
	if f.dispute.IsOpen() {
		return
	}
	a, b := fmt.Sprintf("rank %d has membership %d", f.Rank, f.Epoch), fmt.Sprintf("rank %d has membership %d", h.From, h.Epoch)
	if h.From < f.Rank {
		a, b = b, a
	}
	f.propose(max(h.From, f.Rank), a+", "+b) // the same rank at both: they may not take each other's frames
}
