package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/runtime"
)

// cause tells how near a rank's failure is to what went wrong first.
type cause int

const (
	causeDied    cause = iota // the process ended without a word
	causeOwn                  // something went wrong at this rank
	causeMute                 // the rank did not stop when told to
	causeLate                 // the time was over
	causePeer                 // another rank is gone
	causeAborted              // another rank, or the parent, has called everything off
)

// failure is why a rank has not gone through its work.
type failure struct {
	Rank  int
	Cause cause
	Text  string
	Bad   bool  // the input is to blame, not the run
	Lost  []int `json:",omitempty"` // ranks that this one takes for dead
}

func (f *failure) String() string { return fmt.Sprintf("rank %d: %s", f.Rank, f.Text) }

// inputError marks an error that is the input's fault: exit code 2, not 1.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// lateError says that the time is over.
type lateError struct{ text string }

func (e *lateError) Error() string { return e.text }

// errCalledOff is why a rank stops that its parent has left or told to stop.
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

// spellFailure spells why a rank has failed, whose number stands before it: the rank and its epoch
// are left out of the library's words, and what these say twice in a row is said once.
func spellFailure(rank int, err error) string {
	text := err.Error()
	var op *runtime.OpError
	if errors.As(err, &op) && op.Rank == rank {
		text = strings.Replace(text, fmt.Sprintf("%s: rank %d, epoch %d", op.Op, op.Rank, op.Epoch), op.Op, 1)
	}
	return strings.Join(slices.Compact(strings.Split(text, ": ")), ": ")
}

// failed says that something did not go as it should though the input was good.
func failed(err error) error { return &noError{err.Error()} }

// maxTold is how many failures are told in full.
const maxTold = 3

// rootCause makes one error of the failures of a run: those nearest to what
// went wrong are told, the others counted.
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

// count spells a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
