package stream

import (
	"time"

	"github.com/schedgen/schedgen/internal/clock"
)

// After a rest, the system knows a line only from short bursts, which a shaper or a switch lets
// pass at once. So a long write fills the queue until segments are dropped. Segments behind a gap
// wait for it at the receiver as long as the queue lasts, and the links behind the receiver are
// idle. So a connection that is alone begins with turnBytes, until it has shown that it needs more
// or the system has measured the line.

const (
	// startBytes end the start: they take 16 round trips of turnBytes, and BBR looks back ten.
	startBytes = 16 * turnBytes
	// fastTurn is the time for turnBytes on links so fast that they would idle until the next look.
	fastTurn = time.Millisecond
	// longTrip is the least round trip time for which most of turnBytes are on the line, not in a
	// queue.
	longTrip = time.Millisecond
)

// start is the state of a connection after a rest.
type start struct {
	gone int       // bytes written
	fast bool      // the line is fast; this stays
	full time.Time // when the limit was reached; zero: it was not
	come int       // bytes that had arrived by then
}

// alone returns how many bytes may be written to o, which shares its link with no other connection.
func (u *turns) alone(o *outbound) int {
	unacked, s := u.unacked(o.fd), &o.start
	if unacked < longWrite { // it has rested
		s.gone, s.full = 0, time.Time{}
	}
	s.measure(s.gone-unacked, u.clock)
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

// measure finds out whether the line is fast, given that come bytes have arrived. It waits for half of
// the possible bytes, so that a burst matters little.
func (s *start) measure(come int, c clock.Clock) {
	if come -= s.come; s.full.IsZero() || come < turnBytes/2 {
		return
	}
	s.fast = c.Now().Sub(s.full)*turnBytes <= fastTurn*time.Duration(come)
	s.full = time.Time{}
}
