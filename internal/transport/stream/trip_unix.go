//go:build unix && !linux

package stream

import "time"

// leastTrip returns 0: there is no portable way to ask.
func leastTrip(int) time.Duration { return 0 }
