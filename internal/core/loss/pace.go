package loss

import "github.com/schedgen/schedgen/internal/core/internal/moment"

// pace measures the rhythm of operations in which a rank asks, after a while, for missing slots. A
// barrier that repeats every 100 µs has lost its release long before a base timeout is over. Asking
// too early costs a request and its answer; asking late delays all ranks.
//
// The pace is the least interval between two such operations. It may grow a little each time. An
// operation with a loss takes longer, and the next one too, because its ranks drift apart. With a
// mean, each loss would make the next one cost more.
type pace struct {
	last  moment.Time // when the last such operation began to wait; 0: none has
	least moment.Time // the least interval; 0: unknown
	asked bool        // the last one needed a request, so its time does not count
}

const (
	pacePatience = 4  // something is taken for lost after this many least intervals
	paceGrowth   = 64 // the least interval may grow by this fraction of itself
)

// patience records that an operation waits from now on. It returns how long to wait before asking:
// base, or less if operations are fast.
func (p *pace) patience(now, base moment.Time) moment.Time {
	if d := max(now-p.last, 1); p.last > 0 && !p.asked {
		if p.least == 0 {
			p.least = d
		}
		p.least = min(d, p.least+p.least/paceGrowth+1)
	}
	p.last, p.asked = now, false
	if p.least == 0 {
		return max(base/4, 1)
	}
	return min(base, max(pacePatience*p.least, minPatience))
}
