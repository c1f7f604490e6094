package cast

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
)

// ErrSlow is the error of a receiver that is left out because it holds up the others. A later
// communicator may bring the rest.
var ErrSlow = errors.New("it is served after them")

// SlowRatio is the factor by which a slow receiver is slower than others.
const SlowRatio = 5

var (
	errSlowDisk = fmt.Errorf("its disk is much slower than those of the others: %w", ErrSlow)
	errSlowHost = fmt.Errorf("its network or processor is much slower than those of the others: %w", ErrSlow)
)

// A receiver whose disk is slow holds up the others. Each receiver reports, once a window, how long
// the broadcasts have waited for its sink, and how fast the sink is while it is busy. The sender
// compares the reports. A receiver is slow if two conditions hold for slowWindows in a row: the
// broadcasts waited for it for at least slowShare of the time, and its sink is SlowRatio times
// slower than the median. So no receiver is left out if all are equally slow, or if one is half as
// fast as the others or rests for a while.
const (
	paceWindow  = 2 * time.Second
	slowShare   = 0.5
	slowWindows = 6
)

// stint is a receiver's report of a window.
type stint struct {
	Waited float64 `json:"waited"`         // share of the time that the broadcasts have waited for the sink
	Bytes  int64   `json:"bytes"`          // number of bytes given to the sink
	Busy   float64 `json:"busy"`           // seconds that the sink was busy; may be below 0 after an idle window
	Rate   float64 `json:"rate"`           // bytes received a second
	First  float64 `json:"first"`          // rate in bytes a second of the first long piece over the communicator, or after the last pause; 0: none yet
	From   uint64  `json:"from,omitempty"` // piece of that pause; 0: no pause
}

// meter measures windows of a receiver.
type meter struct {
	clock  clock.Clock
	since  time.Time
	waited time.Duration // time of waiting for the sink, in the window
	bytes  int64         // bytes given to the sink, in the window
	came   int64         // bytes received, in the window
	start  start
	idle   *atomic.Int64 // total time that the sink has waited, in nanoseconds
	before int64         // value of idle when the window began
}

// piece records a piece that has come.
func (m *meter) piece(bytes int) {
	m.came += int64(bytes)
	m.start.piece(bytes, m.clock.Now())
}

// again starts a new measurement after a pause.
func (m *meter) again(from uint64) { m.start = start{from: from, pieces: 1, since: m.clock.Now()} }

// wait measures how long the broadcasts wait. Call it when the wait begins, and the result when it
// ends.
func (m *meter) wait() func() {
	began := m.clock.Now()
	return func() { m.waited += m.clock.Now().Sub(began) }
}

// window returns the report of a window that has ended, or nil.
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
	w := &stint{
		Waited: m.waited.Seconds() / took.Seconds(), Bytes: m.bytes, Busy: busy.Seconds(),
		Rate: float64(m.came) / took.Seconds(), First: m.start.rate, From: m.start.from,
	}
	m.since, m.waited, m.bytes, m.came, m.before = now, 0, 0, 0, idle
	return w
}

// pace holds the sender's records of how its receivers keep up.
type pace struct {
	recent map[int][]stint // by rank, the newest last
	from   uint64          // only windows measured after this piece's pause count; 0: all count
}

// report records a window of a receiver.
func (p *pace) report(rank int, w stint) {
	if w.From < p.from {
		return // measured before the pause
	}
	if p.recent == nil {
		p.recent = map[int][]stint{}
	}
	all := append(p.recent[rank], w)
	p.recent[rank] = all[max(0, len(all)-slowWindows):]
}

// forget removes the windows of a receiver, which takes no more data.
func (p *pace) forget(rank int) { delete(p.recent, rank) }

// slow returns the rank of the slowest receiver that holds up the others, or 0 if no receiver does.
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

// holding lists a receiver if the broadcasts waited for its sink for heldShare of its last window.
// It lists at most mostSlow.
const (
	heldShare = 0.25
	mostSlow  = 3
)

// holding returns the receivers for which the others wait, the slowest first.
func (p *pace) holding() (all []Slow) {
	var ranks []int
	rates := map[int]float64{}
	for rank, windows := range p.recent {
		if last := len(windows) - 1; windows[last].Waited >= heldShare {
			ranks = append(ranks, rank)
			rates[rank] = speed(windows[last:])
		}
	}
	slices.Sort(ranks)
	slices.SortStableFunc(ranks, func(a, b int) int { return cmp.Compare(rates[a], rates[b]) })
	for _, rank := range ranks[:min(len(ranks), mostSlow)] {
		all = append(all, Slow{rank, rates[rank]})
	}
	return all
}

// speed returns the rate of a sink while it is busy, in bytes a second.
func speed(windows []stint) float64 {
	bytes, busy := int64(0), 0.0
	for _, w := range windows {
		bytes, busy = bytes+w.Bytes, busy+w.Busy
	}
	return float64(bytes) / max(busy, time.Millisecond.Seconds())
}
