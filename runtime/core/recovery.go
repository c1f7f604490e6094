package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// recovery makes up for what multicasts lose, and keeps long ones from being
// lost. Repairs of a schedule put the whole message: all that a schedule knows
// is that an acknowledgement is overdue. Ranks know more. One that hears a
// multicast sees which of its chunks have not come, and asks a rank that has
// them; that rank sends just those, and does without the schedule's repair for
// as long as it is asked. So the loss of a chunk costs a chunk. A rank that
// hears nothing asks once, and is repaired as the schedule says: see unheard.go.
type recovery struct {
	*env
	fate *failure
	ops  *operations

	asks    asks
	rhythm  delay // from when something of a multicast comes to when more of it does
	tells   delay // from one word of a rank whose puts yield to the next
	reports reports
	silent  map[int]bool // ranks that have not reported for too long, until they do
	behind  int          // open operations whose multicasts wait for earlier ones
	lossy   uint64       // operations up to this one expect losses
	wary    uint64       // the signals of operations up to this one are doubled, too
	repairs uint64       // repairs carried out
	doubled uint64       // signals sent as datagrams too
	doubles doubles
	pace    pace

	repairing bool // a repair is carried out
}

// losses is what recovery knows of one operation.
type losses struct {
	repairs repairs
	gaps    gaps
	debts   []debt
	served  []service
	window  window
	yields  yields
	heard   bool // a datagram of the operation has come, in time or not
	cries   int  // ranks asked since none has come: see unheard.go
	byMcast int  // chunks that came by multicast first
	byPut   int  // chunks that came by put first
}

func (l *losses) reset() {
	l.repairs.disarm()
	l.gaps = gaps{}
	l.debts, l.served = l.debts[:0], l.served[:0]
	l.heard, l.cries, l.byMcast, l.byPut = false, 0, 0, 0
}

// whole reports whether all chunks of o have come.
func (l *losses) whole(o *op) bool { return l.missing(o) <= 0 }

// missing returns how many chunks of o have not come.
func (l *losses) missing(o *op) int { return o.chunks - l.byMcast - l.byPut }

// manyBytes is how long all blocks together may be that several ranks multicast at once over a network.
// It is half of what waits before a link of a small switch.
const manyBytes = 64 << 10

// drown reports whether the multicasts of o are left out, as if they were lost: all ranks multicast at
// once, so all but one of every P-1 datagrams would be dropped before each link, and those that are not
// take the link from the puts, which bring everything.
func (rc *recovery) drown(o *op) bool {
	return o.plan.manyCast && o.bytes() > manyBytes && rc.Caps.Local < rc.Size
}

// open prepares for operation o.
func (rc *recovery) open(o *op) {
	rc.openYields(o)
	rc.openWindow(o)
}

// end is told that o returns: what still comes by multicast is nothing to wait
// for.
func (rc *recovery) end(o *op) {
	if o.lost.byPut > 0 && !o.lost.heard && o.mayAsk() {
		rc.noteLoss() // and others below may ask
	}
	rc.reached(o, o.chunks)
	o.lost.window.bytes = 0
	rc.unqueue()
}

// tick does what time makes due for o.
func (rc *recovery) tick(o *op, now Time) {
	rc.unblock(o, now)
	rc.checkYields(o, now)
	rc.repair(o, now)
	rc.checkGaps(o, now)
	rc.checkUnheard(o, now)
	rc.checkSlow(o, now)
}

// due returns when tick has something to do next.
func (rc *recovery) due(o *op) Time {
	due := min(o.lost.repairs.due(), o.lost.gaps.due(), rc.yieldsDue(o), rc.unheardDue(o))
	if child := o.late(); child != nil {
		due = min(due, rc.patience(&o.lost.window))
	}
	return due
}

// timed reports whether o waits for times that are to be met closely.
func (rc *recovery) timed(o *op) bool {
	return o.lost.repairs.armed > 0 || o.lost.gaps.armed || o.lost.window.on || o.lost.yields.waits()
}

// isAnswer is the Arg of a chunk that answers a request; the others are
// multicast by the rank that holds them at enter.
const isAnswer = 1

// datagram takes a datagram of o, and reports whether it is one.
func (rc *recovery) datagram(o *op, h *wire.Header, offset int, payload []byte) bool {
	switch {
	case h.Kind == wire.FrameWant:
		return rc.wantedLoosely(o, h, payload)
	case h.Kind == wire.FrameTaken:
		return len(payload) == 0 && o.lost.window.on && rc.takeReport(o, h)
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

// fragment takes a part of a chunk.
func (rc *recovery) fragment(o *op, h *wire.Header, offset int, payload []byte) bool {
	rc.layout(o)
	dst, k := o.chunk(h.Slot), h.Slot.Index()
	if len(dst) != h.Len || !o.frags.fits(len(dst), offset, len(payload)) {
		return false
	}
	if h.Arg != isAnswer {
		o.lost.heard = true
		rc.hear(o, k)
		rc.reached(o, k+count(nearEnd(offset+len(payload), len(dst))))
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

// nearEnd reports whether byte end of a chunk of n bytes counts as its last. A window
// may be one chunk: the root would wait for a last fragment that is lost, and the link
// would lie idle while it is told of one that is not.
func nearEnd(end, n int) bool { return end >= n-n/4 }

// layout numbers the fragments of o, unless that has been done.
func (rc *recovery) layout(o *op) {
	if !o.frags.laidOut() {
		if o.spans.on {
			o.frags.layoutBlocks(o, rc.Caps.Datagram)
			return
		}
		o.frags.layout(o, rc.Caps.Datagram)
	}
}

// complete sets chunk k, which datagrams have brought, the last of which is h.
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
