package cast

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
)

// ErrSlow is why a receiver is left out that holds up the others. It is to be served behind them.
var ErrSlow = errors.New("it is served behind them")

// SlowRatio is how many times slower than others a receiver is that is slow.
const SlowRatio = 5

var (
	errSlowDisk = fmt.Errorf("its disk is much slower than those of the others: %w", ErrSlow)
	errSlowHost = fmt.Errorf("the others wait for it, its network or the host is much slower than theirs: %w", ErrSlow)
)

// A receiver whose disk is slow holds up the others. Each reports, once in a window, how long the
// broadcasts have waited for its sink, and how fast the sink is while it has something to do. The
// sender compares. A receiver is slow if for slowWindows in a row the broadcasts have waited for it
// slowShare of the time at least, and its sink is SlowRatio times slower than the one in the middle
// of all, of which it is none. So where all are equally slow, or one is half as fast as the others,
// or rests for a while, nobody is left out.
const (
	paceWindow  = 2 * time.Second
	slowShare   = 0.5
	slowWindows = 6
)

// stint is what a receiver reports of a window.
type stint struct {
	Waited float64 `json:"waited"`         // what part of the time the broadcasts have waited for its sink
	Bytes  int64   `json:"bytes"`          // that were given to its sink
	Busy   float64 `json:"busy"`           // seconds for which that had something to do; below 0 if it had nothing in the window before
	Rate   float64 `json:"rate"`           // bytes a second that have come
	First  float64 `json:"first"`          // bytes a second of the first long piece over the communicator, or behind the last pause; 0: it has not come
	From   uint64  `json:"from,omitempty"` // the piece behind which that was; 0: there was none yet
}

// meter measures windows of a receiver.
type meter struct {
	clock  clock.Clock
	since  time.Time
	waited time.Duration // for the sink, in the window
	bytes  int64         // of the sink, in the window
	came   int64         // bytes in the window
	start  start
	idle   *atomic.Int64 // nanoseconds for which the sink has waited, in all
	before int64         // idle when the window began
}

// piece takes note of a piece that has come.
func (m *meter) piece(bytes int) {
	m.came += int64(bytes)
	m.start.piece(bytes, m.clock.Now())
}

// again measures anew what comes behind a pause, which is over.
func (m *meter) again(from uint64) { m.start = start{from: from, pieces: 1, since: m.clock.Now()} }

// wait measures how long the broadcasts wait; it is called when that begins, and returns what is
// called when it ends.
func (m *meter) wait() func() {
	began := m.clock.Now()
	return func() { m.waited += m.clock.Now().Sub(began) }
}

// window returns a window that is over, nil if none is.
func (m *meter) window() *stint {
	now, idle := m.clock.Now(), m.idle.Load()
	if m.since.IsZero() {
		m.since, m.before = now, idle
	}
	took := now.Sub(m.since)
	if took < paceWindow {
		return nil
	}
	busy := took - time.Duration(idle-m.before)
	w := &stint{Waited: m.waited.Seconds() / took.Seconds(), Bytes: m.bytes, Busy: busy.Seconds(), Rate: float64(m.came) / took.Seconds(), First: m.start.rate, From: m.start.from}
	m.since, m.waited, m.bytes, m.came, m.before = now, 0, 0, 0, idle
	return w
}

// pace is what the sender knows of how its receivers keep up.
type pace struct {
	recent map[int][]stint // by rank, the newest last
	from   uint64          // the piece behind which receivers measure how fast their networks are; 0: what they have measured counts
}

// report takes note of a window of a receiver.
func (p *pace) report(rank int, w stint) {
	if w.From < p.from {
		return // it has not measured anew
	}
	if p.recent == nil {
		p.recent = map[int][]stint{}
	}
	all := append(p.recent[rank], w)
	p.recent[rank] = all[max(0, len(all)-slowWindows):]
}

// forget is for a receiver that takes nothing any more.
func (p *pace) forget(rank int) { delete(p.recent, rank) }

// slow returns the receiver that is slowest of those that hold up the others, 0 if there is none.
func (p *pace) slow() (slowest int) {
	rates := map[int]float64{}
	var all []float64
	for rank, windows := range p.recent {
		if len(windows) < slowWindows {
			return 0
		}
		rates[rank] = speed(windows)
		all = append(all, rates[rank])
	}
	slices.Sort(all)
	for rank, windows := range p.recent {
		waits := !slices.ContainsFunc(windows, func(w stint) bool { return w.Waited < slowShare })
		if waits && rates[rank]*SlowRatio <= all[len(all)/2] && (slowest == 0 || rates[rank] < rates[slowest]) {
			slowest = rank
		}
	}
	return slowest
}

// The others are said to wait for a receiver if its sink had them do so for heldShare of its last
// window. No more than mostSlow are named.
const (
	heldShare = 0.25
	mostSlow  = 3
)

// holding returns the receivers that the others wait for, the slowest first.
func (p *pace) holding() (all []Slow) {
	for rank, windows := range p.recent {
		if last := len(windows) - 1; windows[last].Waited >= heldShare {
			all = append(all, Slow{rank, speed(windows[last:])})
		}
	}
	slices.SortFunc(all, func(a, b Slow) int { return cmp.Or(cmp.Compare(a.Rate, b.Rate), cmp.Compare(a.Rank, b.Rank)) })
	return all[:min(len(all), mostSlow)]
}

// speed returns how many bytes a second a sink takes while it has something to do.
func speed(windows []stint) float64 {
	bytes, busy := int64(0), 0.0
	for _, w := range windows {
		bytes, busy = bytes+w.Bytes, busy+w.Busy
	}
	return float64(bytes) / max(busy, time.Millisecond.Seconds())
}
