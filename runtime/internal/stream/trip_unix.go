//go:build unix && !linux

package stream

import "time"

// leastTrip returns how long the fastest answer took; there is no common way to
// ask.
func leastTrip(int) time.Duration { return 0 }
