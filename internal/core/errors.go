package core

import (
	"errors"
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/ir"
)

// The reasons why a core fails; see package runtime.
var (
	ErrMismatch = errors.New("ranks disagree on the operation")
	ErrProtocol = errors.New("protocol violation")
	ErrAborted  = errors.New("aborted by another rank")
	ErrRefused  = errors.New("the system refuses a resource")
	ErrPeerLost = errors.New("rank lost")
	ErrPeerLeft = errors.New("rank has left")

	// ErrUnanswered: the core does not fail by it.
	ErrUnanswered = errors.New("no usable answer")

	ErrPeerSilent = fmt.Errorf("%w: it has given no sign of life", ErrPeerLost)
)

// RankError is an error and the rank that caused it. If that rank is not known, it names the rank
// that detected the error.
type RankError struct {
	Rank int
	Err  error
}

// Error names the rank.
func (e *RankError) Error() string { return fmt.Sprintf("rank %d: %v", e.Rank, e.Err) }

// Unwrap returns Err.
func (e *RankError) Unwrap() error { return e.Err }

// OpError is the failure of one operation.
type OpError struct {
	Op      string    // "bcast/mcast-chain", "barrier/hsb", "publish", "next"
	Rank    int       // the rank that reports
	Epoch   uint32    // version of the membership
	Seq     uint64    // operation number, from 1; 0 for rootless messages
	Fired   int       // rules of this rank's program that have fired,
	Rules   int       // of this many that must fire
	Missing []ir.Slot // the first slots that the operation still waited for
	Waiting []int     // the first ranks that should have set them
	Whole   bool      // for a broadcast: this rank's buffer nevertheless holds the whole message
	Err     error     // the cause
}

// Error names the operation, how far it came and why it failed.
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
		fmt.Fprintf(&b, ", waiting for %s", words.List(e.Missing))
	}
	if len(e.Waiting) > 0 {
		fmt.Fprintf(&b, " from rank %s", words.List(e.Waiting))
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

// Unwrap returns Err.
func (e *OpError) Unwrap() error { return e.Err }

// AskError is a question without a result: a rank cannot answer it, has left, or is lost.
type AskError struct {
	Origin   int    // the rank that has asked
	Seq      uint64 // the question's number among the origin's, from 0
	Answered []int  // the ranks whose answers are known to be in, ascending
	Err      error  // the cause, which names a rank
}

// Error names the question, how many ranks have answered, and the cause.
func (e *AskError) Error() string {
	return fmt.Sprintf("ask: question %d of rank %d, with %s: %v", e.Seq, e.Origin, words.Count(int64(len(e.Answered)), "answer", "answers"), e.Err)
}

// Unwrap returns Err.
func (e *AskError) Unwrap() error { return e.Err }
