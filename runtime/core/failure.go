package core

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/runtime/wire"
)

// failure is the end of a core. An operation cannot fail at one rank alone:
// whoever finds that it cannot be completed tells all ranks why, down a binomial
// tree with itself as the root and around ranks that are known to have gone. Whom
// that misses, because another rank on the way has gone, learns it from the
// neighbour that it probes, or that says so when it leaves.
type failure struct {
	*env
	members *membership
	err     error
	why     reason // of err, as others are told
	seq     uint64 // the operation that this rank has entered last
	closing bool
	dispute dispute
	told    map[int]bool    // ranks that have been told apart from the tree
	passed  map[uint32]bool // origins whose reason has been passed on
}

// fail makes err the core's end. If tell is set all ranks are told.
func (f *failure) fail(err error, tell bool) {
	if f.err == nil {
		f.end(err, f.reasonOf(err), tell)
	}
}

// end makes err the core's end, for a reason.
func (f *failure) end(err error, why reason, tell bool) {
	f.err, f.why = err, why
	if tell {
		f.spread(&f.why)
	}
}

// close ends a core that may be at work, or inside an operation: that cannot be
// completed without this rank, as all ranks are told.
func (f *failure) close(err error, inside bool) {
	f.closing = true
	if f.err != nil {
		return
	}
	when := "after"
	if inside {
		when = "inside"
	}
	f.end(err, f.reasonOf(f.with(fmt.Errorf("%w: it closed its communicator %s operation %d", ErrPeerLeft, when, f.seq))), inside)
}

// spread passes r on to those below this rank in the tree of its origin.
func (f *failure) spread(r *reason) {
	for _, child := range f.members.below(nil, r.origin, f.Rank, f.Size) {
		f.tell(child, r)
	}
}

func (f *failure) tell(to int, r *reason) {
	fr := &f.frame
	*fr = wire.Frame{Header: wire.Header{Epoch: f.Epoch, Seq: f.seq, From: f.Rank}}
	r.put(fr)
	f.put(to, fr)
}

// answer tells a rank, once, that still waits although this one has failed, or may be
// about to ask.
func (f *failure) answer(rank int) {
	if f.told[rank] {
		return
	}
	if f.told == nil {
		f.told = make(map[int]bool)
	}
	f.told[rank] = true
	f.tell(rank, &f.why)
}

// heard takes another rank's reason and passes it on.
func (f *failure) heard(h *wire.Header, text []byte) {
	r, _ := f.reasonIn(h) // Body has looked
	if f.passed[h.Arg] || r.origin == f.Rank {
		return
	}
	if f.passed == nil {
		f.passed = make(map[uint32]bool)
	}
	f.passed[h.Arg] = true
	r.text = string(text)
	if r.about == r.origin && f.isLoss(&r) && !f.members.gone(r.about) {
		f.mourn(r.about, f.kindOf(r.cause)) // it has been told so in another communicator
	}
	if f.err == nil {
		f.end(f.errorOf(&r), r, false)
	}
	f.spread(&r)
}

// broken fails the core because of operation seq, called name.
func (f *failure) broken(name string, seq uint64, err error) {
	f.fail(&OpError{Op: name, Rank: f.Rank, Epoch: f.Epoch, Seq: seq, Err: err}, true)
}

// violation fails the core because of a frame: the transport has checked it, so
// it is a peer's fault, not the network's.
func (f *failure) violation(h *wire.Header, format string, args ...any) {
	f.fail(&RankError{
		Rank: h.From, Err: fmt.Errorf("%w: operation %d: %s", ErrProtocol, h.Seq, fmt.Sprintf(format, args...)),
	}, true)
}

// refused fails the core because this rank cannot go on.
func (f *failure) refused(err error) {
	f.fail(&RankError{Rank: f.Rank, Err: fmt.Errorf("%w: %w", ErrRefused, err)}, true)
}

// lost fails the core because a rank is dead.
func (f *failure) lost(rank int, err error) { f.lose(rank, fmt.Errorf("%w: %w", ErrPeerLost, err)) }

func (f *failure) lose(rank int, err error) {
	f.mourn(rank, err)
	f.fail(&RankError{Rank: rank, Err: err}, true)
}

// mourn notes that a rank is lost.
func (f *failure) mourn(rank int, err error) {
	known := f.members.lost(rank)
	f.members.lose(rank, errors.Is(err, ErrPeerSilent))
	if f.Lost != nil && !known {
		f.Lost(rank, err)
	}
}

// isLoss reports whether r says that a rank is lost.
func (f *failure) isLoss(r *reason) bool { return errors.Is(f.kindOf(r.cause), ErrPeerLost) }

// silent fails the core because a rank has said nothing for so long, and no connection says that it is lost. That
// rank is told so: it reads it if it goes on, whatever else it may have been told of others that are lost.
func (f *failure) silent(rank int, silence Time) {
	err := &RankError{Rank: rank, Err: fmt.Errorf("%w for %v s", ErrPeerSilent, float64(silence)/1e9)}
	f.lose(rank, err.Err)
	why := f.reasonOf(err)
	f.tell(rank, &why)
}

// hearsay fails the core because another rank says which are lost, or have gone.
func (f *failure) hearsay(from int, l *lostSet, gone rankset) {
	if all := append(l.lost.list(), gone.list()...); len(all) > 0 {
		f.fail(&RankError{Rank: all[0], Err: fmt.Errorf("%w: rank %d says so", l.lossOf(all[0]), from)}, true)
	}
}

// deserted fails the core because a rank has closed its communicator though that had
// failed, or was inside an operation, and has not said why.
func (f *failure) deserted(rank int) {
	f.fail(&RankError{Rank: rank, Err: fmt.Errorf("%w: it has closed its communicator, which had failed or was inside an operation", ErrPeerLeft)}, true)
}

// strange has the core fail because of a frame of another version of the membership.
func (f *failure) strange(h *wire.Header) {
	if f.dispute.open {
		return
	}
	a, b := fmt.Sprintf("rank %d has membership %d", f.Rank, f.Epoch), fmt.Sprintf("rank %d has membership %d", h.From, h.Epoch)
	if h.From < f.Rank {
		a, b = b, a
	}
	f.propose(h.From, a+", "+b)
}
