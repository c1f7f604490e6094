// Package moment has the time of a core and of its parts.
package moment

// Time is a moment or a duration in nanoseconds. Moments count from 1 ns before the core was made
// and are greater than 0; 0 stands for no moment.
type Time int64

// Over reports whether a timer that is due at t has run out. If t is 0, its time begins now and
// takes span.
func (t *Time) Over(now, span Time) bool {
	if *t == 0 {
		*t = now + span
	}
	return now >= *t
}

// Never is later than every moment.
const Never = Time(1<<63 - 1)
