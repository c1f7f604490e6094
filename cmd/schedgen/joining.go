package main

import (
	"github.com/schedgen/schedgen/cmd/schedgen/internal/crew"
)

// meeting is the longest time that ranks or members may take to meet.
const meeting = crew.MeetingTime

// lateError says that the time is over.
type lateError struct{ text string }

func (e *lateError) Error() string { return e.text }
