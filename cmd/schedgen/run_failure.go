package main

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

// inputError marks an error of bad input: exit code 2, not 1.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// lateError says that the time is over.
type lateError struct{ text string }

func (e *lateError) Error() string { return e.text }

// errCalledOff is the cause of the context of a rank whose parent has died or has told it to stop.
var errCalledOff = errors.New("called off")

func newFailure(rank int, err error) *failure {
	var input inputError
	var late *lateError
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

// failed returns err as an error with exit code 1: the input was good, but the run failed.
func failed(err error) error { return &noError{err.Error()} }

// maxTold is the largest number of failures that are printed in full.
const maxTold = 3

// rootCause returns one error for the failures of a run. It spells the failures nearest to the root
// cause and counts the others.
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
	told := 1
	for told < min(len(all), maxTold) && all[told].Cause == all[0].Cause {
		told++
	}
	var lines []string
	for _, f := range all[:told] {
		lines = append(lines, f.String())
	}
	if rest := len(all) - told; rest > 0 {
		lines = append(lines, fmt.Sprintf("%s gave up with it", count(rest, "other rank")))
	}
	text := strings.Join(lines, "\n")
	if all[0].Bad {
		return errors.New(text)
	}
	return &noError{text}
}

// count spells a number of things, such as "1 rank" or "2 ranks".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
