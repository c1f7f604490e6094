package status

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/schedgen/schedgen/runtime"
)

// rates stores what each communicator had done when the page was last requested, and computes its
// speed from that. It is safe for concurrent use.
type rates struct {
	now func() time.Time

	mu   sync.Mutex
	seen map[commKey]reading
}

// commKey identifies a communicator among those of all processes.
type commKey struct {
	process, first int
	comm           uint8
	epoch          uint32
}

// reading is what a communicator had done at one time, and its rates up to then.
type reading struct {
	at                time.Time
	operations, bytes uint64
	perSecond         float64 // operations per second
	bytesPerSecond    float64
}

// A rate spans at least leastSpan. A communicator that nobody has looked at for rememberTo is
// dropped.
const (
	leastSpan  = time.Second
	rememberTo = time.Minute
)

// describe returns what a communicator has done in all, and its rates since the page was last requested:
// "120 operations, 40/s; sent 1.2 GiB, 310 MiB/s".
func (r *rates) describe(s *runtime.State) string {
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
