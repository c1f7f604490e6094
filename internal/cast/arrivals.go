package cast

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime"
)

// arrivals holds the state of a receiver's pieces: the pieces that have come, are under way, or are
// announced.
type arrivals struct {
	origin  uint64 // first piece over the current communicator
	next    uint64 // piece whose broadcast starts next
	have    uint64 // all pieces below this number have come
	lengths []int  // lengths of the announced pieces in bytes, from next on
	open    []flight
	ended   bool // the last piece has come
}

// flight is a broadcast under way.
type flight struct {
	number uint64
	piece  []byte
	r      *runtime.Request
}

// startable reports whether a broadcast may be started.
func (a *arrivals) startable() bool { return len(a.lengths) > 0 && len(a.open) < window }

// confirms reports whether a barrier precedes the next broadcast. By entering it, the rank confirms
// the pieces before.
func (a *arrivals) confirms() bool { return a.next%stride == 0 && a.next > a.origin }

// fit returns the part of p that the next piece fills.
func (a *arrivals) fit(p []byte) ([]byte, error) {
	if a.lengths[0] > len(p) {
		return nil, fmt.Errorf("%w: it has %d bytes, at most %d are expected", errPiece, a.lengths[0], len(p))
	}
	return p[:a.lengths[0]], nil
}

// started notes that the broadcast of the next piece is under way.
func (a *arrivals) started(p []byte, r *runtime.Request) {
	a.open = append(a.open, flight{a.next, p, r})
	a.next, a.lengths = a.next+1, a.lengths[1:]
}

// oldest returns the earliest broadcast under way.
func (a *arrivals) oldest() (flight, error) {
	if len(a.open) == 0 {
		return flight{}, fmt.Errorf("%w: no piece follows, and it was not the last", errPiece)
	}
	return a.open[0], nil
}

// landed notes that the oldest broadcast has completed.
func (a *arrivals) landed() { a.open = append(a.open[:0], a.open[1:]...) }

// add records a piece, and reports whether it is new.
func (a *arrivals) add(f flight, h head) (fresh bool) {
	a.lengths = append(a.lengths, h.announce...)
	a.ended = a.ended || h.flags&flagLast != 0
	if fresh = f.number == a.have; fresh {
		a.have++
	}
	return fresh
}

// again prepares for another communicator, on which the sender begins with the piece in begin.
func (a *arrivals) again(begin resume) error {
	if begin.From > a.have || begin.Length == 0 && !a.ended {
		return fmt.Errorf("the sender continues with piece %d of %d bytes, but only %d pieces have come", begin.From, begin.Length, a.have)
	}
	a.origin, a.next, a.lengths = begin.From, begin.From, nil
	if begin.Length > 0 {
		a.lengths, a.ended = []int{begin.Length}, false
	}
	return nil
}
