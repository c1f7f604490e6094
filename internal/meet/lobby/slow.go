package lobby

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	doubts     = 3                     // least number of further measurements of a guest that seems slow, by maxProbe bytes each
	doubtTime  = 50 * time.Millisecond // least time for these measurements
	alike      = 1.5                   // if the rates of a slow network differ by more than this factor, packets may be lost, and it is measured again
	mostDoubts = 10                    // greatest number of these measurements
	suspect    = 4                     // a guest seems slow if it is this many times slower than the median guest, or with losses than a quarter of them
	lossTakes  = 1.35                  // if every probe of a network had losses, its real rate is taken to be this many times the measured one (docs/notes/performance.md, "Slow and lossy")
)

// settleDoubts measures guests that seem slow again, until it is clear whether they are.
func (h *Lobby) settleDoubts(ctx context.Context, m *measurement, all []*visitor) {
	var measuring sync.WaitGroup
	middle, upper := ratesOf(all)
	for _, v := range all {
		limit := middle
		if v.lossy {
			limit = upper // the median guest may have lost packets, too
		}
		measuring.Go(func() { h.measureAgain(ctx, m, v, limit/suspect) })
	}
	measuring.Wait()
	if !slices.ContainsFunc(all, func(v *visitor) bool { return v.lossy && v.guest.Rate > 0 && v.guest.Rate <= upper/suspect }) {
		return
	}
	for _, v := range all { // then compare with the others: losses alone may have halved the rates
		if known := v.guest.Rate; v.lossy && known > upper/suspect {
			measuring.Go(func() {
				h.measureAgain(ctx, m, v, upper/2)
				h.setRate(v, max(known, v.guest.Rate))
			})
		}
	}
	measuring.Wait()
}

// ratesOf returns the median rate of the measured guests, and the least rate of the fastest
// quarter; 0 if none was measured.
func ratesOf(all []*visitor) (middle, upper float64) {
	var rates []float64
	for _, v := range all {
		if v.guest.Rate > 0 {
			rates = append(rates, v.guest.Rate)
		}
	}
	if len(rates) == 0 {
		return 0, 0
	}
	slices.Sort(rates)
	return rates[len(rates)/2], rates[len(rates)*3/4]
}

// measureAgain measures a guest again that is slower than limit. It sends as much as a connection
// takes, since after a loss TCP sends little at a time, and short probes only show that. Shaped
// links may let a part of the last probe pass at once, and also a part of the first probe here if
// some time has passed since the last one. Neither part counts. A guest with hardly any new
// measurement when the time is over counts as not measured: if it is slow, that shows soon enough
// during the transfer.
func (h *Lobby) measureAgain(ctx context.Context, m *measurement, v *visitor, limit float64) {
	d, end := new(doubt), h.clock.Now().Add(doubtTime)
	last := 0.0 // the rate that the window allowed last
	for n := 0; v.guest.Rate > 0 && v.guest.Rate <= limit && (d.undecided() || h.clock.Now().Before(end)); n++ {
		if v.late && !m.hearLate(ctx, v) {
			return
		}
		before, _ := h.sent(v)
		again := m.probe(ctx, v, maxProbe, m.turn())
		resent, window := h.sent(v)
		if again == 0 {
			if d.n+d.lossy < doubts {
				h.setRate(v, 0)
			}
			return
		}
		if n > 0 {
			if least := min(last, window); resent > 0 && least > limit {
				again = max(again, least) // a loss has shrunk the window, whatever the network carries
			}
			d.record(again, resent != before)
			h.setRate(v, d.rate())
		}
		last = window
	}
}

// doubt is the state of a guest that seems slow: its new measurements.
type doubt struct {
	n           int // meaningful probes
	lossy       int // probes with resends: the network is at least as fast
	worst, best float64
}

// record adds a measurement.
func (d *doubt) record(rate float64, lossy bool) {
	d.best = max(d.best, rate)
	if lossy {
		d.lossy++
		return
	}
	if d.n++; d.n == 1 {
		d.worst = rate
	}
	d.worst = min(d.worst, rate)
}

// rate is the rate assumed for the guest, in bytes a second.
func (d *doubt) rate() float64 {
	if d.n == 0 {
		return d.best * lossTakes
	}
	return d.best
}

// undecided reports whether another measurement is needed.
func (d *doubt) undecided() bool {
	return d.n+d.lossy < mostDoubts && (d.n < doubts || d.best > alike*d.worst)
}
