package runtime

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// The conditions that errors of a communicator wrap; test with [errors.Is].
// After any of them but ErrBusy, ErrTooLarge and ErrInput the communicator
// has failed: every later call returns the same error.
var (
	// ErrClosed: Close has been called at this rank.
	ErrClosed = errors.New("communicator is closed")
	// ErrBusy: another goroutine is inside a collective operation.
	ErrBusy = errors.New("a collective operation is already running on this communicator")
	// ErrInput: an argument is out of range.
	ErrInput = errors.New("invalid argument")
	// ErrTooLarge: a rootless message is longer than Config.MaxMessage.
	ErrTooLarge = errors.New("message too large")
	// ErrMismatch: ranks have called different operations, roots, sizes or algorithms.
	ErrMismatch = errors.New("ranks disagree on the operation")
	// ErrProtocol: a peer has sent what no correct peer sends.
	ErrProtocol = errors.New("protocol violation")
	// ErrAborted: another rank has failed and said so.
	ErrAborted = errors.New("aborted by another rank")
	// ErrPeerLost: a rank cannot be reached any more.
	ErrPeerLost = errors.New("rank lost")
	// ErrPeerLeft: a rank has closed its communicator while others go on.
	ErrPeerLeft = errors.New("rank has left")
	// ErrUnreachable is wrapped by what a transport tells [Sink.Lost] if a
	// connection could not be opened, or was never taken: the rank may be dead
	// or may have left in good order, which its goodbye, perhaps still on its
	// way, will tell.
	ErrUnreachable = errors.New("cannot connect")
)

// RankError is an error that one rank has caused or detected.
type RankError struct {
	Rank int
	Err  error
}

func (e *RankError) Error() string { return fmt.Sprintf("rank %d: %v", e.Rank, e.Err) }

// Unwrap returns Err.
func (e *RankError) Unwrap() error { return e.Err }

// OpError is the failure of one operation.
type OpError struct {
	Op      string    // "bcast/mcast-chain", "barrier/hsb", "publish", "next"
	Rank    int       // the rank that reports
	Epoch   uint32    // version of the membership
	Seq     uint64    // operation number, from 1; 0 for rootless messages
	Fired   int       // how far it came: rules of this rank's program that have fired,
	Rules   int       // of so many that had to
	Missing []ir.Slot // slots the operation still waited for, the first few
	Waiting []int     // ranks that were to set them, the first few
	Err     error     // why
}

// Error names the operation, where it stood and why it failed.
func (e *OpError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: rank %d, epoch %d", e.Op, e.Rank, e.Epoch)
	if e.Seq > 0 {
		fmt.Fprintf(&b, ", operation %d", e.Seq)
	}
	if e.Rules > 0 {
		fmt.Fprintf(&b, ", %d of %d rules fired", e.Fired, e.Rules)
	}
	if len(e.Missing) > 0 {
		fmt.Fprintf(&b, ", waiting for %s", list(e.Missing))
	}
	if len(e.Waiting) > 0 {
		fmt.Fprintf(&b, " from rank %s", list(e.Waiting))
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

// Unwrap returns Err.
func (e *OpError) Unwrap() error { return e.Err }

func list[T any](items []T) string {
	var b strings.Builder
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, item)
	}
	return b.String()
}

// waitingFor returns the ranks, at most max, whose programs write one of the
// missing slots at rank. It generates other ranks' programs and is meant for
// error messages.
func waitingFor(programs func(rank int) ir.Program, ranks, rank int, missing []ir.Slot, max int) []int {
	var from []int
	for r := range ranks {
		if len(from) == max {
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
			if (a.Op == ir.Mcast || int(a.To) == to) && slices.Contains(slots, a.Slot) {
				return true
			}
		}
	}
	return false
}
