package loss

import (
	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

// Recovery is what a rank knows of losses over all operations.
type Recovery struct {
	cfg       Config
	seq       uint64       // the last operation that has begun
	datagrams ring         // requests by datagram
	puts      ring         // requests by put: apart, since a put may wait for long when datagrams do not
	answers   moment.Delay // time to an answer
	rhythm    moment.Delay // time between two arrivals of a multicast
	pace      pace         `state:"ignored"`
	lossy     uint64       // operations up to this one expect losses
	wary      uint64       `state:"ignored"` // signals of operations up to this one are doubled
	doubles   []Double
	repeats   []Double `state:"scratch"` // scratch of Repeat
	out       []Output `state:"scratch"` // to send

	repairs, doubled uint64 `state:"ignored"` // counters
}

// New returns a Recovery that has seen nothing.
func New(cfg Config) Recovery { return Recovery{cfg: cfg} }

// Begin records that operation seq begins.
func (r *Recovery) Begin(seq uint64) { r.seq = seq }

// Outputs returns the outputs to send, in order, and forgets them. The result is valid until the
// next step.
func (r *Recovery) Outputs() []Output {
	out := r.out
	r.out = r.out[:0]
	return out
}

// Counts returns how many repairs have been carried out, and how many signals have been sent as
// datagrams too.
func (r *Recovery) Counts() (repairs, doubled uint64) { return r.repairs, r.doubled }

// lossMemory is the number of operations after a loss that expect further losses.
const lossMemory = 16

// Lost records that the network loses frames.
func (r *Recovery) Lost() {
	if r.cfg.Direct {
		r.lossy = r.seq + lossMemory
	}
}

// Losing reports whether losses are expected.
func (r *Recovery) Losing() bool { return r.seq <= r.lossy }

// Slow doubles signals for a while if an operation takes long. Without multicasts nothing else
// shows that frames are lost. since is when a tick first found the operation open, or 0.
func (r *Recovery) Slow(since, now moment.Time) {
	if since > 0 && now-since >= r.cfg.Repair {
		r.beWary()
	}
}

func (r *Recovery) beWary() {
	if r.cfg.Direct {
		r.wary = r.seq + lossMemory
	}
}

// End ends the operation of l at this rank: from now on, missing multicasts do not matter.
func (r *Recovery) End(l *Losses) {
	if l.ByPut > 0 && !l.Heard && l.asks() {
		r.Lost() // ranks below may ask as well
	}
	l.repairs.disarm()
}

// Normalize makes Recoveries equal if they differ only in durations.
func (r *Recovery) Normalize() {
	r.answers, r.rhythm = moment.Delay{}, moment.Delay{}
	r.doubles = r.doubles[:0] // a repeated datagram is like a late put
	r.datagrams.normalize()
	r.puts.normalize()
}
