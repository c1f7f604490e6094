package loss

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

// Losses is what a rank knows of the losses of one operation. Its memory is used again.
type Losses struct {
	Parts   Fragments
	Heard   bool // a datagram of the multicast has arrived, in time or not
	asked   bool
	ByMcast int // chunks that arrived by multicast first
	ByPut   int // chunks that arrived otherwise: by put, or as answers

	chunks, bytes int     `state:"ignored"`
	root          int     `state:"ignored"`
	ask           []int32 `state:"fixed"`

	gaps    gaps
	unheard int         // ranks asked because no datagram has arrived: see AskUnheard
	since   moment.Time `state:"ignored"` // when the wait for the multicast began; 0: it begins at the next tick
	repairs repairs
	debts   []debt
	served  []service
}

// Open prepares l for an operation that begins.
func (l *Losses) Open(m Message) {
	l.Parts.reset()
	l.Heard, l.ByMcast, l.ByPut = false, 0, 0
	l.chunks, l.bytes, l.root, l.ask, l.asked = m.Chunks, m.Bytes, m.Root, m.Ask, m.Asked
	l.gaps, l.unheard, l.since = gaps{}, 0, 0
	l.repairs.disarm()
	l.debts, l.served = l.debts[:0], l.served[:0]
}

// asks reports whether there is a rank to ask.
func (l *Losses) asks() bool { return len(l.ask) > 0 }

// missing returns how many chunks have not arrived.
func (l *Losses) missing() int { return l.chunks - l.ByMcast - l.ByPut }

// whole reports whether all chunks have arrived.
func (l *Losses) whole() bool { return l.missing() <= 0 }

// TakePut records that a put has brought a chunk. mcast says that the put is as good as a
// multicast, so that this rank does not take the multicast for silent.
func (l *Losses) TakePut(mcast bool) {
	l.ByPut++
	l.gaps.given = true
	l.gaps.fresh = l.gaps.fresh || mcast
}

// TakePart records that the fragment of chunk k at a byte has arrived, as an answer or by its
// multicast (see Hear). last reports whether the chunk is whole now.
func (r *Recovery) TakePart(l *Losses, k, at int, answer bool) (last bool) {
	if answer {
		l.gaps.given = true
		l.gaps.pass.arrived(l.Parts.number(k, at), r.partsAtOnce())
	}
	if last = l.Parts.add(k, at); !last {
		return false
	}
	if answer {
		l.ByPut++
	} else {
		l.ByMcast++
	}
	l.excuse(k)
	return true
}

// chunksIn returns how many chunks have about the given number of bytes, at least one.
func (l *Losses) chunksIn(bytes int) int { return max(1, bytes*l.chunks/max(1, l.bytes)) }

const (
	someBytes = 256 << 10
	fewBytes  = 2 << 10
	maxSome   = 24
)

// some is how many chunks a rank puts at once without a request, or asks for in silence. It is
// small at first, since missing chunks may only be late, and doubles each time. Useless puts delay
// the signals behind them.
func (l *Losses) some(times int) int { return l.chunksIn(someBytes << min(times, maxSome)) }

// much reports whether more than someBytes bytes are missing.
func (l *Losses) much() bool { return l.missing()*(l.bytes/max(1, l.chunks)) > someBytes }

// Timed reports whether a timer of l needs precision.
func (l *Losses) Timed() bool { return l.repairs.armed > 0 || l.gaps.armed }

// Usage returns how many repairs are armed, how many fragments or chunks have been asked for and
// have not arrived, and how many ranks are owed something.
func (l *Losses) Usage() (repairs, asked, debtors int) {
	return l.repairs.armed, l.gaps.pass.pending, len(l.debts)
}

// Timer is the kind of a timer.
type Timer uint8

// The kinds of timers.
const (
	TimerRepair  Timer = iota // a repair is due
	TimerAgain                // chunks that requests have not brought are asked for again
	TimerSilence              // the multicast has been silent
	TimerUnheard              // nothing has been heard of the multicast
)

// Timers visits the timers of l that run: the kind, the rule (TimerRepair), when the timer began, and
// how long it takes.
func (r *Recovery) Timers(l *Losses, visit func(kind Timer, rule int, began *moment.Time, span moment.Time)) {
	for i := range l.repairs.list {
		if p := &l.repairs.list[i]; p.armed {
			visit(TimerRepair, int(p.rule.Number), &p.due, 0)
		}
	}
	if g := &l.gaps; g.armed {
		if g.pass.again != 0 {
			visit(TimerAgain, 0, &g.pass.again, 0)
		}
		visit(TimerSilence, 0, &g.quiet, 0)
	}
	if l.Unheard() {
		visit(TimerUnheard, 0, &l.since, r.unheardWait(l))
	}
}

// Normalize makes Losses equal if they differ only in durations, or in debts that are settled. now
// is always the same moment. inside says that the operation has not ended at this rank; if it has,
// only the part that others may ask for counts.
func (l *Losses) Normalize(now, repair moment.Time, inside bool) {
	l.debts = slices.DeleteFunc(l.debts, func(d debt) bool { return d.chunks.IsEmpty() && d.parts.IsEmpty() })
	if !inside {
		l.Parts, l.repairs, l.gaps, l.unheard, l.ByMcast, l.ByPut = Fragments{}, repairs{}, gaps{}, 0, 0, 0
		return
	}
	if l.Heard {
		l.ByMcast, l.ByPut = l.ByMcast+l.ByPut, 0 // only the sum counts: see End
	}
	l.repairs.normalize(now, repair)
	l.gaps.normalize(now, repair)
	// The choice of the rank to ask depends on the turns only up to the number of ranks to ask.
	last := max(0, len(l.ask)-1)
	g := &l.gaps
	g.tries, g.pass.tries = min(g.tries, last), min(g.pass.tries, max(0, last-1))
	if l.chunks <= firstReach && g.armed {
		g.reach = firstReach
	}
}
