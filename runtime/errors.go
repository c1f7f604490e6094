package runtime

import (
	"errors"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core"
)

// The conditions that errors of a communicator wrap; test with [errors.Is].
// After any of them but ErrBusy, ErrTooLarge, ErrTooMany, ErrInput and, from Next,
// ErrPeerLeft the communicator has failed: every later call returns the same error.
var (
	// ErrClosed: Close has been called at this rank.
	ErrClosed = errors.New("communicator is closed")
	// ErrBusy: another goroutine is inside Bcast or Barrier, or is about to start an
	// operation: which of the two comes first is not defined. Operations that are to
	// overlap are started one after the other.
	ErrBusy = errors.New("another goroutine is inside a collective call of this communicator")
	// ErrInput: an argument or a field of Config is out of range, or a context is nil. A call with such
	// an argument has done nothing and may be made again. If other ranks wait for it and it is not, all
	// ranks get ErrMismatch.
	ErrInput = errors.New("invalid argument")
	// ErrTooLarge: a rootless message is longer than Config.MaxMessage, or a
	// message of BcastBytes longer than Config.MaxBcast.
	ErrTooLarge = errors.New("message too large")
	// ErrTooMany: Split or Dup would make more communicators than may share a transport.
	ErrTooMany = errors.New("too many communicators")
	// ErrMismatch: ranks have called different operations, roots, sizes, algorithms or
	// schedules, or have different Config.Epoch or rules for rootless messages. The error says of
	// two ranks what each has called. A call may return before the ranks know: a root waits for
	// nobody. The next call in which a rank waits for one that differs fails, a barrier at every rank.
	// If a rank has refused a call, and made no other, while others wait for it, the error says what
	// was wrong with that call.
	ErrMismatch = core.ErrMismatch
	// ErrProtocol: a peer has sent what no correct peer sends.
	ErrProtocol = core.ErrProtocol
	// ErrAborted: another rank has failed and said so. The error is also what it is
	// there: one of these, [context.DeadlineExceeded] or [context.Canceled].
	ErrAborted = core.ErrAborted
	// ErrRefused: the system refuses this rank what it needs to reach the others, such
	// as descriptors. At the others it is ErrAborted.
	ErrRefused = core.ErrRefused
	// ErrPeerLost: a rank cannot be reached any more.
	ErrPeerLost = core.ErrPeerLost
	// ErrPeerSilent: a rank has given no sign of life for Config.Silence, and may live all the same. It is ErrPeerLost,
	// too. If the rank of the error is this one, the others have taken it for lost and gone on without it.
	ErrPeerSilent = core.ErrPeerSilent
	// ErrPeerLeft: a rank has closed its communicator while others go on, or inside an operation,
	// or rootless messages would have to go by it.
	ErrPeerLeft = core.ErrPeerLeft
)

// RankError is an error that one rank has caused, as far as is known, or else has
// detected.
type RankError = core.RankError

// OpError is the failure of one operation: which, how far it came, what it still
// waited for, and why it ended.
type OpError = core.OpError

// foreignError is an error of another communicator. The ranks that it names have other numbers here: so it hides
// which they are, and if one of them is lost, it is that a rank has left.
type foreignError struct{ err error }

func (e *foreignError) Error() string { return e.err.Error() }

// Is has errors.Is find what e.err is.
func (e *foreignError) Is(target error) bool {
	if errors.Is(e.err, ErrPeerLost) {
		return target == ErrPeerLeft
	}
	return errors.Is(e.err, target)
}

// noContext is the error of a call whose context is nil. It must come before the call takes a lock,
// which whoever recovers from a panic would leave behind.
func noContext(op string) error { return fmt.Errorf("%w: %s: the context is nil", ErrInput, op) }

// waitingFor returns the ranks, at most that many, whose programs write one of the
// missing slots at rank. It generates other ranks' programs and is meant for
// error messages.
func waitingFor(programs func(rank int) ir.Program, ranks, rank int, missing []ir.Slot, most int) []int {
	var from []int
	for r := range ranks {
		if len(from) == most {
			break
		}
		if r != rank && writes(programs(r), rank, missing) {
			from = append(from, r)
		}
	}
	return from
}

func writes(p ir.Program, to int, slots []ir.Slot) bool {
	for i := range p.Rules {
		for _, a := range p.Rules[i].Do {
			if (a.Op == ir.Mcast || int(a.To) == to) && a.Op != ir.Fold && slices.Contains(slots, a.Sets()) {
				return true
			}
		}
	}
	return false
}
