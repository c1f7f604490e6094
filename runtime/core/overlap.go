package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Several operations may be open at once, and a rank need not open the next one
// before those that are open have ended. A frame of an operation that its receiver
// has not entered is held, with all that is behind it in its lane. So nothing that
// the receiver needs in an earlier operation may come behind it; otherwise two
// ranks that start the same operations in the same order could wait for ever: one
// has put a chunk of operation k+1 to the other, and then its signal of k, while
// the other waits for that signal before it starts k+1.
//
// The rule: a put that may be held leaves only when the sender has settled every
// operation before its own, or has been told that the receiver has entered this one.
// Until then it waits at the sender, who asks the receiver to say so (FrameCall,
// answered by FrameEntered). Settled means that all that the operation waits for
// has come, and that no put of it yields to a multicast any more. By verify's check
// retire a rank then has put all that its rules ask for; what it may still put
// answers requests, and a rank that needs that has others to
// ask, or rules that bring it, or gets it on LaneControl (over.go). Where a call ends before the next begins, every
// operation before is settled: nothing ever waits, and nothing is asked.
//
// What may be held are chunks, and signals that are too far ahead. An operation
// begins only when all but MaxOpen-1 of those before it have ended. So a signal of
// operation k comes from a rank that has ended k-MaxOpen. A receiver takes signals
// of the next MaxOpen-1 operations; one that it holds is at least MaxOpen beyond what
// it has entered, and its sender has settled all of that. Multicasts and datagrams
// have no lane and may be lost: they do not wait.
//
// No call waits for ever, then, by induction over the operations. Let all ranks
// have ended all before k. All enter k, since who waits waits only for earlier ones.
// At no rank does a put of k wait, and none is held, nor stands behind one that is,
// so that the proof of a single operation (verify's check deadlock) holds for k.
//
// How far ranks may be apart follows from verify's check reuse, whose bounds are
// about calls one after the other: a rank that has entered m knows what the end of
// m-1 means. With MaxOpen at once it knows what the end of m-MaxOpen means, so that
// MaxOpen-1 comes on top of either bound. Of the algorithms that have a bound, no rank
// enters more than 2 ahead, with MaxOpen at once 5: the Remembered operations of the
// rank ahead include what the last one is in. Of those without a bound ranks may be
// any number apart, and need not be asked: puts bring everything.

// overlap is what waits because several operations are open.
type overlap struct {
	settled uint64 // this operation and all before it are settled here
	waiting int    // puts that wait, over all operations
	calls   []call // of ranks that want to put to this one
}

// call is a rank's wish to be told when this one enters an operation.
type call struct {
	seq   uint64
	print uint32
	from  int
}

// waits are the puts of one operation that wait.
type waits struct {
	list    []ir.Action // in the order in which rules have asked for them
	asked   bits        // ranks that are to say when they enter it
	entered bits        // ranks that have said so
}

func (w *waits) reset() {
	if len(w.asked) > 0 {
		w.list, w.asked, w.entered = w.list[:0], w.asked[:0], w.entered[:0]
	}
}

// settledBefore reports whether all operations before o are settled here.
func (ops *operations) settledBefore(o *op) bool {
	v := &ops.overlap
	for v.settled = max(v.settled, ops.complete); v.settled+1 < o.seq; v.settled++ {
		if p := ops.open(v.settled + 1); p != nil && !p.settled() {
			return false
		}
	}
	return true
}

// settled reports whether all that o waits for has come, its rules have begun, and no put of it waits.
func (o *op) settled() bool {
	return o.machine.Done() && len(o.folds.later) == 0 && !o.gate.behind && len(o.waits.list) == 0 && !o.lost.yields.waits()
}

// wait has an action of o wait if it must, and reports so. What an operation still
// puts that has ended answers a request: who has asked has entered it.
func (ops *operations) wait(o *op, a ir.Action) bool {
	w := &o.waits
	if a.Op != ir.Put || o.state != opActive || ops.remembers(a.Slot) || ops.settledBefore(o) || w.entered.has(int(a.To)) {
		return false
	}
	w.list = append(w.list, a)
	o.unsent++ // the call must not return before it is sent
	ops.overlap.waiting++
	if !w.asked.has(int(a.To)) {
		w.asked = w.asked.with(int(a.To))
		ops.control(int(a.To), wire.FrameCall, o.seq, o.print, 0)
	}
	return true
}

// resume is called when an operation may have come to be settled.
func (ops *operations) resume() {
	if ops.overlap.waiting > 0 {
		ops.release()
	}
}

// release sends what waits no longer: settledBefore has come to be true.
func (ops *operations) release() {
	for seq := ops.complete + 1; seq <= ops.seq; seq++ {
		if o := ops.open(seq); o != nil && len(o.waits.list) > 0 {
			if !ops.settledBefore(o) {
				return
			}
			ops.releaseIf(o, func(ir.Action) bool { return true })
		}
	}
}

// releaseIf sends the puts of o that wait and that may leave.
func (ops *operations) releaseIf(o *op, may func(ir.Action) bool) {
	kept := o.waits.list[:0]
	for _, a := range o.waits.list {
		if !may(a) {
			kept = append(kept, a)
			continue
		}
		o.unsent--
		ops.overlap.waiting--
		if a.As != ir.None {
			a.Joins = false
			ops.putValues(o, []ir.Action{a})
		} else if !o.lost.yields.on || !ops.rec.yield(o, a) {
			ops.putSlot(o, a.Slot, int(a.To))
		}
	}
	o.waits.list = kept
}

// drop forgets the puts of o that wait.
func (ops *operations) drop(o *op) {
	o.unsent -= len(o.waits.list)
	ops.overlap.waiting -= len(o.waits.list)
	o.waits.reset()
}

// called answers a rank that wants to put, now or when this one has come so far.
func (ops *operations) called(h *wire.Header) {
	if h.Seq <= ops.seq {
		if ops.agreed(h) {
			ops.control(h.From, wire.FrameEntered, h.Seq, h.Print, 0)
		}
		return
	}
	v := &ops.overlap
	if len(v.calls) == MaxOpen*ops.Size {
		ops.fate.violation(h, "it announces more than %d operations", MaxOpen)
		return
	}
	v.calls = append(v.calls, call{h.Seq, h.Print, h.From})
}

// clearCalls answers the ranks that want to put chunks of o, which begins.
func (ops *operations) clearCalls(o *op) {
	kept := ops.overlap.calls[:0]
	for _, c := range ops.overlap.calls {
		switch {
		case c.seq != o.seq:
			kept = append(kept, c)
		case c.print != o.print:
			ops.disagree(o.seq, c.from, c.print)
		default:
			ops.control(c.from, wire.FrameEntered, c.seq, c.print, 0)
		}
	}
	ops.overlap.calls = kept
}

// peerEntered lets the puts to a rank go that has entered their operation.
func (ops *operations) peerEntered(h *wire.Header) {
	o := ops.open(h.Seq)
	if o == nil || !ops.agrees(o, h) || !o.waits.asked.has(h.From) {
		return // it has become true otherwise that they may go
	}
	o.waits.entered = o.waits.entered.with(h.From)
	ops.releaseIf(o, func(a ir.Action) bool { return int(a.To) == h.From })
	ops.release()
}
