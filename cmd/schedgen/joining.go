package main

import (
	"context"

	"github.com/schedgen/schedgen/cmd/schedgen/internal/crew"
)

// meeting is the longest time that ranks or members may take to meet.
const meeting = crew.MeetingTime

// lateError says that the time is over.
type lateError struct{ text string }

func (e *lateError) Error() string { return e.text }

// causeOf adds the cause of the end of ctx to an error, if ctx has ended and the error does not
// hold the cause.
func causeOf(ctx context.Context, err error) error { return crew.CauseOf(ctx, err) }
