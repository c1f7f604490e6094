package runtime

import (
	"errors"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
)

// The conditions that errors of a communicator wrap; test with [errors.Is]. ErrBusy, ErrTooLarge,
// ErrTooMany, ErrInput, ErrUnanswered, from Split and Dup ErrRefused and, from Next, ErrPeerLeft
// leave the communicator intact.
// After any other condition the communicator has failed, and every later call returns the same
// error.
var (
	// ErrClosed: this rank has called Close, or Shrink has made another communicator.
	ErrClosed = errors.New("communicator is closed")
	// ErrBusy: another goroutine is inside Bcast or Barrier, or is about to start an operation, so
	// that the order of the two calls is undefined. To overlap operations, start them one after the
	// other. Also, a prepared operation has been started, and its outcome has not been taken.
	ErrBusy = errors.New("another goroutine is inside a collective call of this communicator")
	// ErrInput: an argument or a field of Config is out of range, or a context is nil. The call has
	// done nothing and may be made again. If other ranks wait for the call and it is not made
	// again, all ranks get ErrMismatch.
	ErrInput = errors.New("invalid argument")
	// ErrTooLarge: a rootless message is longer than Config.MaxMessage, or a message of BcastBytes,
	// or a value of GatherBytes and its siblings, is longer than Config.MaxBcast.
	ErrTooLarge = errors.New("message too large")
	// ErrTooMany: Split or Dup would make more communicators than may share a transport.
	ErrTooMany = errors.New("too many communicators")
	// ErrMismatch: ranks have called different operations, roots, sizes, algorithms or schedules,
	// or have different values of Config.Epoch or different rules for rootless messages. The error
	// names two ranks and the call of each. A call may return before the ranks find the mismatch,
	// since a root waits for no rank. The next call in which a rank waits for a differing rank
	// fails; a barrier fails at every rank. If a rank has refused a call and made no other while
	// others wait for it, the error says what was wrong with the refused call. It also says so if
	// the rank has made another call instead.
	ErrMismatch = core.ErrMismatch
	// ErrProtocol: a peer has sent a frame that no correct peer sends.
	ErrProtocol = core.ErrProtocol
	// ErrAborted: another rank has failed and said so. The error also wraps the condition of that
	// rank: one of these, [context.DeadlineExceeded] or [context.Canceled].
	ErrAborted = core.ErrAborted
	// ErrRefused: the operating system refuses a resource, such as descriptors or memory, that a
	// rank needs to reach the others. If the communicator fails, the other ranks get ErrAborted.
	ErrRefused = core.ErrRefused
	// ErrPeerLost: a rank cannot be reached any more.
	ErrPeerLost = core.ErrPeerLost
	// ErrPeerSilent: a rank has given no sign of life for Config.Silence; it may still be alive.
	// The error also wraps ErrPeerLost. If the rank in the error is this rank, the others have
	// taken it for lost and have gone on without it.
	ErrPeerSilent = core.ErrPeerSilent
	// ErrPeerLeft: a rank has closed its communicator inside an operation, while others go on, or
	// all ranks that would bring a rootless message here have.
	ErrPeerLeft = core.ErrPeerLeft
	// ErrUnanswered: a rank has not answered a question of Ask. It has no handler, or one that
	// answers by another operation or with another length than others, or it has closed the
	// communicator; the error then also wraps ErrPeerLeft.
	ErrUnanswered = core.ErrUnanswered
	// ErrQuorum: Config.Quorum forbids the ranks that are left to go on. The communicator had
	// failed before.
	ErrQuorum = errors.New("too few ranks are left")
)

// RankError is an error with the rank that caused it, as far as is known, or else the rank that
// detected it.
type RankError = core.RankError

// OpError is the failure of one operation: which operation, how far it came, what it still waited
// for, and why it ended.
type OpError = core.OpError

// AskError is a question of Ask without a result. It says whose answers are in.
type AskError = core.AskError

// foreignError is an error of another communicator, whose ranks have other numbers. So it hides the
// ranks that the error names. If one of them is lost, foreignError reports ErrPeerLeft.
type foreignError struct{ err error }

func (e *foreignError) Error() string { return e.err.Error() }

// Is reports whether e.err is target; a lost rank counts as a rank that has left.
func (e *foreignError) Is(target error) bool {
	if errors.Is(e.err, ErrPeerLost) {
		return target == ErrPeerLeft
	}
	return errors.Is(e.err, target)
}

// noContext is the error of a call whose context is nil. The check must come before the call takes
// a lock: using a nil context panics, and a program that recovers from that panic would leave the
// lock held.
func noContext(op string) error { return fmt.Errorf("%w: %s: the context is nil", ErrInput, op) }

// waitingFor returns the first ranks, at most most, whose programs set one of the missing slots at
// rank. It generates other ranks' programs, which takes long: use it for error messages only.
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
