package stream

import (
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
)

// What the system knows of a line when a connection has rested comes from short
// bursts, which a shaper or a switch lets pass at once. A long write so fills the
// queue until segments are dropped. What comes behind a hole waits for it at the
// receiver, for as long as the queue takes, and links behind the receiver lie idle.
// So a connection that is alone begins with turnBytes, until it has shown that it
// needs more or the system has measured the line.

const (
	// startBytes are gone when turnBytes have come as often as BBR looks back, ten
	// round trips, and more.
	startBytes = 16 * turnBytes
	// fastTurn is within what turnBytes come where links are so fast that they
	// would lie idle until somebody looks.
	fastTurn = time.Millisecond
	// longTrip is from when on most of turnBytes are on the line, not in a queue.
	longTrip = time.Millisecond
)

// start is how a connection goes on after a rest.
type start struct {
	gone int  // bytes written
	fast bool // the line is; that stays
	full time.Time
	// When it was found that no more may be written, zero if it was not, and what
	// had come by then.
	come int
}

// alone returns how many bytes may be written to o, which shares its link with
// nobody.
func (u *turns) alone(o *outbound) int {
	unacked, s := u.unacked(o.fd), &o.start
	if unacked < longWrite { // it has rested
		s.gone, s.full = 0, time.Time{}
	}
	s.look(s.gone-unacked, u.clock)
	switch {
	case s.fast || s.gone >= startBytes:
		return maxWrite
	case unacked+longWrite <= turnBytes:
		return turnBytes - unacked
	case s.full.IsZero():
		s.full, s.come = u.clock.Now(), s.gone-unacked
		s.fast = u.trip(o.fd) >= longTrip
	}
	if s.fast {
		return maxWrite
	}
	return 0
}

// look finds out whether the line is fast, now that so many bytes have come: half
// of what may be there, so that a burst does not count for much.
func (s *start) look(come int, c clock.Clock) {
	if come -= s.come; s.full.IsZero() || come < turnBytes/2 {
		return
	}
	s.fast = c.Now().Sub(s.full)*turnBytes <= fastTurn*time.Duration(come)
	s.full = time.Time{}
}
