package sim

import "fmt"

// Arrival says when the ranks call the operation. All its parts add up.
type Arrival struct {
	At     []Time // by rank, when it calls; nil: at 0
	Others Time   // delay of all ranks except the root, or rank 0 if there is no root
	Late   Time   // additional delay of one random rank among these
	Skew   Time   // each rank comes up to this much later, drawn uniformly
}

func (a *Arrival) check() error {
	for _, t := range append([]Time{a.Others, a.Late, a.Skew}, a.At...) {
		if t < 0 || t > maxTime {
			return fmt.Errorf("a rank arrives at %d ns: must be in 0..%d", t, maxTime)
		}
	}
	return nil
}

// times sets into[r] to the time when rank r arrives.
func (a *Arrival) times(into []Time, root int, seed uint64) {
	clear(into)
	copy(into, a.At)
	late := drawOther(seed, drawLate, len(into), root)
	for r := range into {
		if r != root {
			into[r] += a.Others
		}
		if r == late {
			into[r] += a.Late
		}
		if a.Skew > 0 {
			into[r] += upTo(draw(seed, drawArrival, uint64(r), 0), a.Skew)
		}
	}
}

// drawOther draws a rank that is not the root, or returns -1 if there is none.
func drawOther(seed uint64, p purpose, ranks, root int) int {
	if ranks < 2 {
		return -1
	}
	other := int(draw(seed, p, 0, 0) % uint64(ranks-1))
	if other >= root {
		other++
	}
	return other
}

// Delay is what the root waits for once it has called: the policies of paper 000, section 2.1,
// except the barrier, which is Config.Before. A collective without a root ignores it.
type Delay struct {
	Fixed Time // a fixed time
	// Peer makes the root wait for a message of one byte from a rank drawn from the seed. That rank
	// sends it as soon as it has called.
	Peer bool
	// Adaptive makes the root wait for such a message, but at most for a time that changes from run
	// to run of a Sim, as under the runtime's adaptive policy. The drawn rank also tells the root
	// whether a multicast has reached it. The first run has no delay.
	Adaptive bool
}
