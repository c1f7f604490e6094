package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core/internal/moment"
	"github.com/schedgen/schedgen/runtime/wire"
)

// recovery repairs what multicasts lose, and limits long ones so that less is lost. Repairs of a
// schedule put the whole message, since a schedule only knows that an acknowledgement is overdue.
// Ranks know more. A rank that hears a multicast sees which chunks are missing, and asks a rank
// that has them. That rank sends only those, and suspends the schedule's repair while it is asked.
// So the loss of a chunk costs a chunk. A rank that hears nothing asks once, and is repaired by the
// schedule: see unheard.go.
type recovery struct {
	*env
	fate *failure
	ops  *operations

	asks    asks
	rhythm  moment.Delay // time between two arrivals of a multicast
	lossy   uint64       // operations up to this one expect losses
	wary    uint64       // signals of operations up to this one are doubled
	repairs uint64       // repairs carried out
	doubled uint64       // signals sent as datagrams too
	doubles doubles
	pace    pace

	repairing bool // a repair is being carried out
}

// losses is the recovery state of one operation.
type losses struct {
	repairs repairs
	gaps    gaps
	debts   []debt
	served  []service
	heard   bool // a datagram of the operation has arrived, in time or not
	cries   int  // ranks asked because no datagram has arrived: see unheard.go
	byMcast int  // chunks that arrived by multicast first
	byPut   int  // chunks that arrived by put first
}

func (l *losses) reset() {
	l.repairs.disarm()
	l.gaps = gaps{}
	l.debts, l.served = l.debts[:0], l.served[:0]
	l.heard, l.cries, l.byMcast, l.byPut = false, 0, 0, 0
}

// whole reports whether all chunks of o have arrived.
func (l *losses) whole(o *op) bool { return l.missing(o) <= 0 }

// missing returns how many chunks of o have not arrived.
func (l *losses) missing(o *op) int { return o.chunks - l.byMcast - l.byPut }

// end is called when o returns: from then on, missing multicasts do not matter.
func (rc *recovery) end(o *op) {
	if o.lost.byPut > 0 && !o.lost.heard && o.mayAsk() {
		rc.noteLoss() // ranks below may ask as well
	}
}

// tick does what is due for o.
func (rc *recovery) tick(o *op, now Time) {
	rc.repair(o, now)
	rc.checkGaps(o, now)
	rc.checkUnheard(o, now)
	rc.checkSlow(o, now)
}

// due returns when tick next has something to do.
func (rc *recovery) due(o *op) Time {
	return min(o.lost.repairs.due(), o.lost.gaps.due(), rc.unheardDue(o))
}

// timed reports whether a timer of o needs precision.
func (rc *recovery) timed(o *op) bool {
	return o.lost.repairs.armed > 0 || o.lost.gaps.armed
}

// isAnswer is the Arg of a chunk that answers a request. Other datagrams are multicasts of the rank
// that holds the chunk.
const isAnswer = 1

// datagram takes a datagram of o. It returns false if the datagram is invalid.
func (rc *recovery) datagram(o *op, h *wire.Header, offset int, payload []byte) bool {
	switch {
	case h.Kind == wire.FrameWant:
		return rc.wantedLoosely(o, h, payload)
	case h.Kind == wire.FrameTaken:
		return len(payload) == 0 && o.window.On() && rc.ops.takeReport(o, h)
	case h.Kind != wire.FrameSlot || !o.machine.Valid(h.Slot):
		return false
	case h.Slot.Kind() == ir.KindSignal && h.Len == 0:
		rc.traceNew(EventReceived, o, h.Slot, h.From)
		rc.ops.set(o, h.Slot)
		return true
	case h.Slot.Kind() != ir.KindChunk || o.state != opActive || h.Arg != isAnswer && !o.castBy(h.From, h.Slot.Index()):
		return false
	}
	return rc.fragment(o, h, offset, payload)
}

// fragment takes a fragment of a chunk. It returns false if the fragment is invalid.
func (rc *recovery) fragment(o *op, h *wire.Header, offset int, payload []byte) bool {
	rc.layout(o)
	dst, k := o.chunk(h.Slot), h.Slot.Index()
	if len(dst) != h.Len || !o.frags.fits(len(dst), offset, len(payload)) {
		return false
	}
	if h.Arg != isAnswer {
		o.lost.heard = true
		rc.hear(o, k)
		rc.ops.flow(o, o.window.Reached(k+count(nearEnd(offset+len(payload), len(dst)))))
	}
	if o.machine.Has(h.Slot) {
		return true
	}
	copy(dst[offset:], payload)
	if h.Arg == isAnswer {
		o.lost.gaps.given = true
		o.lost.gaps.pass.arrived(int(o.frags.first[k])+offset/o.frags.size, rc.looseParts())
	}
	if o.frags.add(k, offset) {
		rc.complete(o, h, k)
	}
	return true
}

// nearEnd reports whether byte end of a chunk of n bytes counts as its last. A window may be one
// chunk: if the root waited for a lost last fragment, or for the report of one that arrived, the
// link would idle.
func nearEnd(end, n int) bool { return end >= n-n/4 }

// layout numbers the fragments of o, unless they have numbers.
func (rc *recovery) layout(o *op) {
	if !o.frags.laidOut() {
		if o.spans.on {
			o.frags.layoutBlocks(o, rc.Caps.Datagram)
			return
		}
		o.frags.layout(o, rc.Caps.Datagram)
	}
}

// complete sets chunk k, whose last datagram is h.
func (rc *recovery) complete(o *op, h *wire.Header, k int) {
	if h.Arg == isAnswer {
		o.lost.byPut++
	} else {
		o.lost.byMcast++
	}
	o.lost.excuse(k)
	rc.trace(EventReceived, o.seq, h.Slot, h.From)
	rc.ops.set(o, h.Slot)
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
