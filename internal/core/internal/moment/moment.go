// Package moment has the time of a core and of its parts.
package moment

// Time is a moment or a duration in nanoseconds. Moments count from 1 ns before the core was made
// and are greater than 0; 0 stands for no moment.
type Time int64

// Never is later than every moment.
const Never = Time(1<<63 - 1)
