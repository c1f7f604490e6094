package rendezvous

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	doubts     = 3                     // how often a guest that seems slow is measured again at least, by maxProbe,
	doubtTime  = 50 * time.Millisecond // and for how long;
	alike      = 1.5                   // what it takes a slow network differs by less than that: else packets may be lost, and it is measured again,
	mostDoubts = 10                    // but no more often than that
	suspect    = 4                     // so many times slower than the guest in the middle, or with losses than a quarter of them, seems slow
	lossTakes  = 1.35                  // if each probe of a network has lost something it is taken to be so many times faster than they tell (docs/notes/performance.md, "Slow and lossy")
)

// settle measures guests again that seem slow, until it is known whether they are.
func (h *Lobby) settle(ctx context.Context, m *measurement, all []*visitor) {
	var measuring sync.WaitGroup
	middle, upper := ratesOf(all)
	for _, v := range all {
		limit := middle
		if v.lossy {
			limit = upper // the one in the middle may have lost packets, too
		}
		measuring.Go(func() { h.recheck(ctx, m, v, limit/suspect) })
	}
	measuring.Wait()
	if !slices.ContainsFunc(all, func(v *visitor) bool { return v.lossy && v.guest.Rate > 0 && v.guest.Rate <= upper/suspect }) {
		return
	}
	for _, v := range all { // beside whom it is slow is to be known then: losses alone may have halved what they take
		if known := v.guest.Rate; v.lossy && known > upper/suspect {
			measuring.Go(func() {
				h.recheck(ctx, m, v, upper/2)
				h.rate(v, max(known, v.guest.Rate))
			})
		}
	}
	measuring.Wait()
}

// ratesOf returns how fast the guest in the middle is of those that were measured, and how fast a quarter of them is at least; 0 if none was.
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

// recheck measures a guest again that seems slow, as it is below a limit: by as much as a connection takes, since after a loss TCP sends
// little at a time, and short probes tell of that alone. Of the probe before some may have passed at once, as links do that
// are shaped, and of the first one here again, if that was a while ago: neither counts. Who has hardly been measured again when there is no time left
// counts as not measured: that it is slow is found out soon enough while it is sent to.
func (h *Lobby) recheck(ctx context.Context, m *measurement, v *visitor, limit float64) {
	d, end := new(doubt), h.cfg.Clock.Now().Add(doubtTime)
	last := 0.0 // how fast the window had things go before
	for n := 0; v.guest.Rate > 0 && v.guest.Rate <= limit && (d.open() || h.cfg.Clock.Now().Before(end)); n++ {
		if v.late && !m.hearLate(ctx, v) {
			return
		}
		before, _ := v.sent()
		again := m.probe(ctx, v, maxProbe, m.turn())
		resent, window := v.sent()
		if again == 0 {
			if d.n+d.lossy < doubts {
				h.rate(v, 0)
			}
			return
		}
		if n > 0 {
			if least := min(last, window); resent > 0 && least > limit {
				again = max(again, least) // what was lost has made the window small, whatever the network carries
			}
			d.take(again, resent != before)
			h.rate(v, d.rate())
		}
		last = window
	}
}

// doubt is what is known of a guest that seems slow: how fast it was, measured again.
type doubt struct {
	n           int // probes that tell
	lossy       int // and those of which something was sent again: the network is as fast as that at least
	worst, best float64
}

func (d *doubt) take(rate float64, lossy bool) {
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

// rate is how fast the guest is taken to be, in bytes a second.
func (d *doubt) rate() float64 {
	if d.n == 0 {
		return d.best * lossTakes
	}
	return d.best
}

// open reports whether it has to be measured once more.
func (d *doubt) open() bool {
	return d.n+d.lossy < mostDoubts && (d.n < doubts || d.best > alike*d.worst)
}
