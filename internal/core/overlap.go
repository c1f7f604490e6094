package core

import (
	"github.com/schedgen/schedgen/internal/core/internal/bitset"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Several operations may be open at once, and a rank need not open the next one before the open
// ones have ended. A frame of an operation that its receiver has not entered is held, with all
// frames behind it in its lane. So nothing that the receiver needs in an earlier operation may be
// behind it. Otherwise two ranks that start the same operations in the same order could wait for
// ever: one has put a chunk of operation k+1 to the other, and then its signal of k, while the
// other waits for that signal before it starts k+1.
//
// The rule: a put that may be held leaves only when the sender has settled every earlier operation,
// or knows that the receiver has entered this operation. Until then the put waits at the sender,
// which asks the receiver to say so (FrameCall, answered by FrameEntered). An operation is settled
// when everything that it waits for has arrived, and none of its puts yields to a multicast any
// more. By verify's check retire, the rank has then put everything that its rules ask for. Later
// puts only answer requests, and a rank that needs such an answer has other ranks to ask, or rules
// that bring it, or gets it on LaneControl (over.go). If each call ends before the next begins,
// every earlier operation is settled: nothing ever waits, and nothing is asked.
//
// Chunks may be held, and signals that are too far ahead. An operation begins only when all but
// MaxOpen-1 earlier ones have ended. So a signal of operation k comes from a rank that has ended
// k-MaxOpen. A receiver takes signals of the next MaxOpen-1 operations. A held signal is at least
// MaxOpen beyond what the receiver has entered, and its sender has settled all operations up to
// there. Multicasts and datagrams have no lane and may be lost, so they do not wait.
//
// Therefore no call waits for ever, by induction over the operations. Let all ranks have ended all
// operations before k. All enter k, since a waiting rank waits only for earlier operations. No put
// of k waits at any rank, none is held, and none is behind a held one, so the proof of a single
// operation (verify's check deadlock) holds for k.
//
// How far ranks may be apart follows from verify's check reuse, whose bounds are about calls one
// after the other: a rank that has entered m knows what the end of m-1 implies. With MaxOpen at
// once it knows what the end of m-MaxOpen implies, so MaxOpen-1 is added to either bound. With an
// algorithm that has a bound, a rank enters at most 2 ahead, and 5 with MaxOpen at once. So the
// Remembered operations of the rank ahead include the last rank's current one. With an algorithm
// without a bound, ranks may be any number apart, but need not be asked: puts bring everything.

// overlap holds the puts and calls that wait because several operations are open.
type overlap struct {
	settled uint64 // all operations up to this one are settled here
	waiting int    // waiting puts of all operations
	calls   []call // calls of ranks that want to put to this rank
}

// call is a rank's request to be told when this rank enters an operation.
type call struct {
	seq   uint64
	print uint32
	from  int
}

// waits holds the waiting puts of one operation.
type waits struct {
	list    []ir.Action // in the order of the rules
	asked   bitset.Set  // ranks that have been asked to say when they enter the operation
	entered bitset.Set  // ranks that have entered the operation
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

// settled reports whether everything that o waits for has arrived, its rules have begun, and none
// of its puts waits.
func (o *op) settled() bool {
	return o.machine.Done() && len(o.folds.later) == 0 && !o.gate.behind && len(o.waits.list) == 0 && !o.yields.HasWaiting()
}

// wait makes an action of o wait if it must, and reports whether it waits. Puts of an operation
// that has ended answer requests, so their receivers have entered it.
func (ops *operations) wait(o *op, a ir.Action) bool {
	w := &o.waits
	if a.Op != ir.Put || o.state != opActive || ops.remembers(a.Slot) || ops.settledBefore(o) || w.entered.Has(int(a.To)) {
		return false
	}
	w.list = append(w.list, a)
	o.unsent++ // the call must not return before it is sent
	ops.overlap.waiting++
	if !w.asked.Has(int(a.To)) {
		w.asked = w.asked.With(int(a.To))
		ops.control(int(a.To), wire.FrameCall, o.seq, o.print, 0)
	}
	return true
}

// resume is called when an operation may have become settled.
func (ops *operations) resume() {
	if ops.overlap.waiting > 0 {
		ops.release()
	}
}

// release sends the puts that no longer wait because settledBefore now holds.
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

// releaseIf sends the waiting puts of o that may leave.
func (ops *operations) releaseIf(o *op, may func(ir.Action) bool) {
	kept := o.waits.list[:0]
	for _, a := range o.waits.list {
		if !may(a) {
			kept = append(kept, a)
			continue
		}
		o.unsent--
		ops.overlap.waiting--
		if !o.yields.On() || !ops.yield(o, a) {
			ops.putJoined(o, []ir.Action{a})
		}
	}
	o.waits.list = kept
}

// drop forgets the waiting puts of o.
func (ops *operations) drop(o *op) {
	o.unsent -= len(o.waits.list)
	ops.overlap.waiting -= len(o.waits.list)
	o.waits.reset()
}

// called answers a rank that wants to put, now or when this rank has entered the operation.
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

// peerEntered releases the puts to a rank that has entered their operation.
func (ops *operations) peerEntered(h *wire.Header) {
	o := ops.open(h.Seq)
	if o == nil || !ops.agrees(o, h) || !o.waits.asked.Has(h.From) {
		return // the puts have been released for another reason
	}
	o.waits.entered = o.waits.entered.With(h.From)
	ops.releaseIf(o, func(a ir.Action) bool { return int(a.To) == h.From })
	ops.release()
}
