// Package adapt has the rule of the adaptive delay: how long the root of a multicast waits at most for
// the rank that is drawn to report, so that few ranks are not listening yet. The runtime and the
// simulator share it.
package adapt

// The delay after the first miss, and the longest delay, in nanoseconds.
const (
	Start = 10_000
	Max   = 20_000_000
)

// Next returns the delay of the next operation. missed says that the multicast has not reached the
// drawn rank. met says that this rank had entered before the root began: then the multicast was lost
// by chance, and no delay saves it. waited says that the root began when it heard that.
//
// The delay grows by half after a miss and shrinks by a sixteenth otherwise, but only by a
// sixty-fourth if the root has waited until the rank entered. So the root waits for nearly all drawn
// ranks if it is usually the first to enter, and no longer waits, after a while, if all enter
// together.
func Next[T ~int64](delay T, missed, met, waited bool) T {
	switch {
	case met && waited:
		return delay - delay/64
	case met, !missed:
		return delay - delay/16
	}
	return min(max(delay+delay/2, Start), Max)
}
