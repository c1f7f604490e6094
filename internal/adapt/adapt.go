// Package adapt has the rule of the adaptive delay: how long the root of a multicast waits, so that
// few ranks are not listening yet. The runtime and the simulator share it.
package adapt

// The delay after the first miss, and the longest delay, in nanoseconds.
const (
	Start = 10_000
	Max   = 20_000_000
)

// Next returns the delay of the next operation. missed says that the multicast has not reached the
// rank drawn to report. met says that this rank had entered before the root began: then the
// multicast was lost by chance, and no delay saves it. The delay grows by half after a miss and
// shrinks by a sixteenth otherwise. So it settles where about one in seven operations misses.
func Next[T ~int64](delay T, missed, met bool) T {
	if missed && !met {
		return min(max(delay+delay/2, Start), Max)
	}
	return delay - delay/16
}
