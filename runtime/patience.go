package runtime

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/schedgen/schedgen/internal/core"
)

// A rank that waits long inside an operation says so in its log. Without the log, a program learns
// of the wait only at its deadline, and many programs have none. A caller checks how long it has
// waited only when it is about to be parked. It has just read the clock then, so the check is
// cheap. An operation that ends sooner pays nothing.

// longWait is how long callers wait in an operation before a warning says so. Each further warning
// comes after twice the time.
const longWait = core.Time(2 * time.Second)

// patience watches how long callers wait in the oldest open operation, which the others wait for.
// The zero patience watches none.
type patience struct {
	seq    uint64    // the operation that callers waited in when they last looked; 0: none
	since  core.Time // when a caller first looked
	next   core.Time // when the next warning is due
	warned bool      // a warning has been logged
	idle   bool      // no caller waits now, so no warning is due
}

// due returns when the next warning is due; ok is false if none is.
func (p *patience) due() (due core.Time, ok bool) { return p.next, p.seq != 0 && !p.idle }

// over reports whether a warning was about operation seq, which has ended.
func (p *patience) over(seq uint64) bool { return p.warned && p.seq == seq }

// watchWait looks at how long callers have waited, and logs a warning when one is due. waits
// reports whether a caller waits for a request.
func (c *Comm) watchWait(now core.Time, waits bool) {
	p := &c.patience
	begun, ended := c.core.Seq()
	if begun == ended || c.core.Failed() {
		*p = patience{}
		return
	}
	if p.idle = !waits; p.idle {
		if !p.warned {
			p.seq = 0 // the next wait counts from its own begin
		}
		return
	}
	if p.seq != ended+1 {
		*p = patience{seq: ended + 1, since: now, next: now + longWait}
	}
	if now >= p.next {
		c.warnWait(now)
	}
}

// warnWait logs that callers wait, unless the operation still moves. It does not wait for the
// handler, or for the search for the ranks that the operation waits for, since the caller holds the
// driver's lock. If the handler has not returned from the last event, there is no warning.
func (c *Comm) warnWait(now core.Time) {
	p := &c.patience
	in := c.core.Inspect(now)
	o := c.operation(in.Open[0])
	if len(o.Absent) == 0 && o.Quiet < longWait {
		p.next = now + longWait - o.Quiet
		return
	}
	waited := now - p.since
	p.next = now + waited
	if c.told.busy() {
		return
	}
	p.warned = true
	c.logLater(func() {
		o.find(c.size, c.rank)
		c.log(slog.LevelWarn, "operation waits", append(waitAttrs(&o, waited), reasons(&o, in.Watch)...)...)
	})
}

// logWaited logs the end of an operation that a warning was about.
func (c *Comm) logWaited(o *Request) {
	waited := c.drv.now() - c.patience.since
	of := &Operation{OpState: core.OpState{Name: o.plan.Name, Seq: o.seq}}
	c.patience = patience{}
	c.logLater(func() { c.log(slog.LevelInfo, "operation has ended", waitAttrs(of, waited)...) })
}

func waitAttrs(o *Operation, waited core.Time) []slog.Attr {
	return []slog.Attr{
		slog.Uint64("operation", o.Seq), slog.String("name", o.Name),
		slog.Duration("waited", time.Duration(waited).Round(time.Millisecond)),
	}
}

// reasons returns the ranks that o waits for, and why, as far as this rank knows. It prefers what
// ranks have said or shown. Only without that does it take the ranks from the schedule.
func reasons(o *Operation, w *core.Watch) []slog.Attr {
	var held []int
	for i := range o.Waiting {
		held = append(held, o.Waiting[i].Ranks...)
	}
	switch {
	case o.Delayed:
		return []slog.Attr{slog.String("why", "its root has not started, as Config.Delay says")}
	case len(o.Absent) > 0:
		return lateness(o.Absent, "not entered the operation", "")
	case w != nil && w.Quiet > w.Limit/2:
		quiet := time.Duration(w.Quiet).Round(time.Second)
		return lateness([]int{w.Rank}, fmt.Sprintf("given no sign of life for %v", quiet), "")
	case len(o.WaitsFor) > 0:
		return lateness(o.WaitsFor, "not sent what this rank lacks", ", and may wait for others")
	case len(held) > 0:
		return lateness(held, "not said that this rank may send", ", and may wait for others")
	case len(o.SendsTo) > 0:
		return lateness(o.SendsTo, "not taken all that this rank sends", "")
	}
	return nil
}

// lateness returns the ranks and what they have done or not.
func lateness(ranks []int, what, more string) []slog.Attr {
	ranks = slices.Compact(slices.Sorted(slices.Values(ranks)))
	subject := "they have "
	if len(ranks) == 1 {
		subject = "it has "
	}
	return []slog.Attr{slog.Any("waits_for", ranks), slog.String("why", subject+what+more)}
}
