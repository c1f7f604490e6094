package mismatch

import (
	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

// Dispute is a mismatch that a rank knows of and has not failed by yet. The other rank may compute,
// or be gone, and not answer. So the wait ends after a while: twice as long while this rank knows
// only its own side. The zero Dispute is not open. A copy of a Dispute is independent.
type Dispute struct {
	open  bool
	whole bool // text has the calls of both sides
	about int
	text  string      // the mismatch in words, as far as this rank knows
	until moment.Time // when this rank fails anyway; 0: set at the next tick
}

// Open opens the dispute with rank about, whose call this rank does not know.
func (d *Dispute) Open(about int, text string) {
	*d = Dispute{open: true, about: about, text: text}
}

// Complete records that both sides are known. The dispute may not have been open. patience is as in
// Tick.
func (d *Dispute) Complete(about int, text string, patience moment.Time) {
	if d.until != 0 && !d.whole {
		d.until -= patience // until included the wait for the other side
	}
	d.open, d.whole, d.about, d.text = true, true, about, text
}

// IsOpen reports whether there is a dispute.
func (d *Dispute) IsOpen() bool { return d.open }

// Awaits reports whether this rank waits for the words of rank.
func (d *Dispute) Awaits(rank int) bool { return d.open && !d.whole && d.about == rank }

// Mismatch returns the rank that the mismatch is about, and the mismatch in words.
func (d *Dispute) Mismatch() (about int, text string) { return d.about, d.text }

// Tick reports whether the wait of an open dispute is over. patience is how long a rank waits for
// one answer.
func (d *Dispute) Tick(now, patience moment.Time) bool {
	if !d.open {
		return false
	}
	if !d.whole {
		patience *= 2
	}
	return d.until.Over(now, patience)
}

// Until is when the wait of an open dispute is over; 0: the next tick begins it.
func (d *Dispute) Until() *moment.Time { return &d.until }

// Normalize makes Disputes equal if they differ only in durations. At a rank that has failed the
// words no longer matter.
func (d *Dispute) Normalize(failed bool) {
	if failed || !d.open {
		d.about, d.text, d.until = 0, "", 0
	}
}
