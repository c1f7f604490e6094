package status

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/schedgen/schedgen/runtime"
)

// rates remembers what communicators had done when the page was last looked at, and so knows how
// fast they are. It is safe for concurrent use.
type rates struct {
	now func() time.Time

	mu   sync.Mutex
	seen map[commKey]reading
}

// commKey tells the communicators of all processes apart.
type commKey struct {
	process, first int
	comm           uint8
	epoch          uint32
}

// reading is what a communicator had done at a time, and its rates up to then.
type reading struct {
	at                time.Time
	operations, bytes uint64
	perSecond         float64 // operations
	bytesPerSecond    float64
}

// A rate is of a second at least, and what nobody has looked at for so long is forgotten.
const (
	leastSpan  = time.Second
	rememberTo = time.Minute
)

// of returns what a communicator has done in all, with the rates since the page was last looked at:
// "120 operations, 40/s; sent 1.2 GiB, 310 MiB/s".
func (r *rates) of(s *runtime.State) string {
	key, now := commKey{s.Process, s.First, s.Comm, s.Epoch}, r.now()
	sent := s.Totals.Transport.PutBytes + s.Totals.Transport.McastBytes
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.seen[key]
	switch span := now.Sub(last.at); {
	case !ok:
		if r.seen == nil {
			r.seen = make(map[commKey]reading)
		}
		maps.DeleteFunc(r.seen, func(_ commKey, old reading) bool { return now.Sub(old.at) > rememberTo })
		last = reading{at: now, operations: s.Ended, bytes: sent}
	case span >= leastSpan:
		last = reading{now, s.Ended, sent, float64(s.Ended-last.operations) / span.Seconds(), float64(sent-last.bytes) / span.Seconds()}
	}
	r.seen[key] = last
	text := fmt.Sprintf("%d operations", s.Ended)
	if s.Ended == 1 {
		text = "1 operation"
	}
	if last.perSecond > 0 {
		text += fmt.Sprintf(", %.3g/s", last.perSecond)
	}
	if sent > 0 {
		text += "; sent " + sizeText(int(sent))
	}
	if last.bytesPerSecond >= 1 {
		text += ", " + sizeText(int(last.bytesPerSecond)) + "/s"
	}
	return text
}
