package core

// pace is how fast operations follow each other in which a rank asks, after a while, for
// what it has not heard: a barrier that comes every 100 µs has lost its release long before
// a base timeout is over. Who asks too early costs a request and its answer; who asks late
// keeps all waiting.
//
// What counts is the least time from one to the next, which may grow by a little with each:
// one that has lost something takes longer, and so does the next, whose ranks come apart. Of
// a mean each loss would make the next one cost more.
type pace struct {
	last  Time // when the last of them was waited for; 0: none was
	least Time // from one to the next; 0: not known
	asked bool // the last one has been asked for: how long it took says nothing
}

const (
	pacePatience = 4  // so many times the least has to pass before something is taken for lost
	paceGrowth   = 64 // that part of itself is what the least may grow by
)

// patience notes that such an operation waits from now on, and returns for how long it does
// before it asks: base, or less if they come fast.
func (p *pace) patience(now, base Time) Time {
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
