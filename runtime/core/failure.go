package core

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime/wire"
)

// failure is the end of a core. An operation cannot fail at one rank alone:
// whoever finds that it cannot be completed tells all ranks why, down a binomial
// tree with itself as the root and around ranks that are known to have gone. Whom
// that misses, because another rank on the way has died, learns it from the
// neighbour that it probes.
type failure struct {
	*env
	members *membership
	err     error
	seq     uint64 // the operation that this rank has entered last
	closing bool
	told    map[int]bool    // ranks that have asked and been told
	passed  map[uint32]bool // origins whose reason has been passed on
}

// fail makes err the core's end. If tell is set all ranks are told.
func (f *failure) fail(err error, tell bool) {
	if f.err != nil {
		return
	}
	f.err = err
	if tell && !f.closing {
		f.spread(f.Rank, f.Rank, clip(err.Error()))
	}
}

func clip(s string) []byte { return []byte(s[:min(len(s), wire.MaxControl)]) }

// spread passes the reason of origin on to the children of rank in origin's
// binomial tree, and to those of a child that has gone.
func (f *failure) spread(origin, rank int, reason []byte) {
	v := (rank - origin + f.Size) % f.Size
	for bit := 1; bit < f.Size-v && v&bit == 0; bit <<= 1 {
		child := (rank + bit) % f.Size
		if f.members.gone(child) {
			f.spread(origin, child, reason)
		} else {
			f.tell(child, origin, reason)
		}
	}
}

func (f *failure) tell(to, origin int, reason []byte) {
	fr := &f.frame
	*fr = wire.Frame{Header: wire.Header{
		Kind: wire.FrameAbort, Lane: wire.LaneControl, Epoch: f.Epoch, Seq: f.seq, Arg: uint32(origin), Len: len(reason), From: f.Rank,
	}, Body: reason}
	f.put(to, fr)
}

// answer tells a rank, once, that still waits although this one has failed.
func (f *failure) answer(rank int) {
	if f.told[rank] {
		return
	}
	if f.told == nil {
		f.told = make(map[int]bool)
	}
	f.told[rank] = true
	f.tell(rank, f.Rank, clip(f.err.Error()))
}

// heard takes another rank's reason and passes it on.
func (f *failure) heard(origin uint32, reason []byte) {
	if f.passed[origin] || int(origin) == f.Rank {
		return
	}
	if f.passed == nil {
		f.passed = make(map[uint32]bool)
	}
	f.passed[origin] = true
	f.fail(&RankError{Rank: int(origin), Err: fmt.Errorf("%w: %s", ErrAborted, reason)}, false)
	f.spread(int(origin), f.Rank, append([]byte(nil), reason...))
}

// broken fails the core because of operation seq, called name.
func (f *failure) broken(name string, seq uint64, err error) {
	f.fail(&OpError{Op: name, Rank: f.Rank, Epoch: f.Epoch, Seq: seq, Err: err}, true)
}

// disagree fails the core because another rank runs something else under the
// same number.
func (f *failure) disagree(name string, seq uint64, other int) {
	f.broken(name, seq, &RankError{
		Rank: other, Err: fmt.Errorf("%w: it runs another collective, algorithm, root or size as operation %d", ErrMismatch, seq),
	})
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
func (f *failure) lost(rank int, err error) {
	f.members.lose(rank)
	f.fail(&RankError{Rank: rank, Err: fmt.Errorf("%w: %w", ErrPeerLost, err)}, true)
}
