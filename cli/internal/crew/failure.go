package crew

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/runtime"
)

// cause is the kind of a rank's failure. Smaller causes are nearer to the root cause of a run's
// failure.
type cause int

const (
	causeDied    cause = iota // the process ended without a report
	causeOwn                  // something went wrong at this rank
	causeMute                 // the rank did not stop when told to
	causeLate                 // the time was over
	causePeer                 // another rank is gone
	causeAborted              // another rank, or the parent, has aborted the run
)

// failure is the failure of a rank.
type failure struct {
	Rank  int
	Cause cause
	Text  string
	Bad   bool  // the input is bad: exit code 2
	Lost  []int `json:",omitempty"` // ranks that this one takes for dead
}

func (f *failure) String() string { return fmt.Sprintf("rank %d: %s", f.Rank, f.Text) }

// InputError marks an error of bad input: exit code 2, not 1.
type InputError struct{ error }

func (e InputError) Unwrap() error { return e.error }

// timeError says that the time is over.
type timeError struct{ text string }

func (e *timeError) Error() string { return e.text }

// errCalledOff is the cause of the context of a rank whose parent has died or has told it to stop.
var errCalledOff = errors.New("called off")

func newFailure(rank int, err error) *failure {
	var input InputError
	var late *timeError
	f := &failure{Rank: rank, Cause: causeOwn, Text: spellFailure(rank, err), Bad: errors.As(err, &input)}
	switch {
	case errors.Is(err, runtime.ErrAborted), errors.Is(err, errCalledOff), errors.Is(err, context.Canceled):
		f.Cause = causeAborted
	case errors.Is(err, runtime.ErrPeerLost), errors.Is(err, runtime.ErrPeerLeft):
		f.Cause = causePeer
	case errors.As(err, &late):
		f.Cause = causeLate
	}
	var lost *runtime.LostError
	if errors.As(err, &lost) {
		f.Lost = lost.Ranks
	}
	return f
}

// spellFailure spells the error of a rank for a line that begins with the rank. It removes the rank
// and the epoch from the library's text, and repeated parts.
func spellFailure(rank int, err error) string {
	text := err.Error()
	var op *runtime.OpError
	if errors.As(err, &op) && op.Rank == rank {
		text = strings.Replace(text, fmt.Sprintf("%s: rank %d, epoch %d", op.Op, op.Rank, op.Epoch), op.Op, 1)
	}
	return strings.Join(slices.Compact(strings.Split(text, ": ")), ": ")
}

// maxTold is the largest number of failures that are printed in full.
const maxTold = 3

// Error is the error of ranks that have failed.
type Error struct {
	failures []*failure // at least one; failures nearest to the root cause come first
}

// rootCause returns an [*Error] for the failures of ranks, or nil if there are none.
func rootCause(all []*failure) error {
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b *failure) int {
		if a.Cause != b.Cause {
			return int(a.Cause - b.Cause)
		}
		return a.Rank - b.Rank
	})
	return &Error{all}
}

// BadInput reports whether the root cause is bad input.
func (e *Error) BadInput() bool { return e.failures[0].Bad }

// Error spells the failures nearest to the root cause, one a line, and counts the others.
func (e *Error) Error() string {
	all := e.failures
	told := 1
	for told < min(len(all), maxTold) && all[told].Cause == all[0].Cause {
		told++
	}
	var lines []string
	for _, f := range all[:told] {
		lines = append(lines, f.String())
	}
	switch rest := len(all) - told; {
	case rest == 1:
		lines = append(lines, "1 other rank gave up with it")
	case rest > 1:
		lines = append(lines, fmt.Sprintf("%d other ranks gave up with it", rest))
	}
	return strings.Join(lines, "\n")
}
