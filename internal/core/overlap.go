package core

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core/flow"
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

// overlap holds what is needed because several operations are open.
type overlap struct {
	settled uint64 `state:"ignored"` // all operations up to this one are settled here
	calls   []call // calls of ranks that want to put to this rank
}

// call is a rank's request to be told when this rank enters an operation.
type call struct {
	seq   uint64
	print uint32
	from  int
}

// entries says which ranks have entered an operation, as far as puts must know.
type entries struct {
	asked bitset.Set // ranks that have been asked to say when they enter
	known bitset.Set // ranks that have entered
}

func (e *entries) reset() {
	if len(e.asked) > 0 {
		e.asked, e.known = e.asked[:0], e.known[:0]
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

// settled reports whether everything that o waits for has arrived, its rules have begun, and no put
// or fold waits. Multicasts may wait: they have no lane.
func (o *op) settled() bool {
	b := &o.outbox
	return o.machine.Done() && !o.gate.behind && !b.Has(flow.ByEntry) && !b.Has(flow.ByReport) && !b.Has(flow.ByWork)
}

// awaitEntry makes an action of o wait if it must, and reports whether it waits. Puts of an
// operation that has ended answer requests, so their receivers have entered it.
func (ops *operations) awaitEntry(o *op, a ir.Action) bool {
	to, e := int(a.To), &o.entries
	if a.Op != ir.Put || o.state != opActive || ops.remembers(a.Slot) || ops.settledBefore(o) || e.known.Has(to) {
		return false
	}
	o.outbox.Add(flow.ByEntry, a)
	if !e.asked.Has(to) {
		e.asked = e.asked.With(to)
		ops.control(to, wire.FrameCall, o.seq, o.print, 0)
	}
	return true
}

// resume is called when an operation may have become settled.
func (ops *operations) resume() {
	if ops.seq > ops.complete+1 { // otherwise no operation is open behind another
		ops.release()
	}
}

// release sends the puts that no longer wait because settledBefore now holds.
func (ops *operations) release() {
	for seq := ops.complete + 2; seq <= ops.seq; seq++ {
		if o := ops.open(seq); o != nil && o.outbox.Has(flow.ByEntry) {
			if !ops.settledBefore(o) {
				return
			}
			o.outbox.Release(flow.ByEntry, func(a ir.Action) bool { return ops.admitted(o, a) })
		}
	}
}

// admitted sends a put whose receiver may be sent it, unless the put waits for a report. It returns
// true: the put waits for no entry any more.
func (ops *operations) admitted(o *op, a ir.Action) bool {
	if !o.yields.On() || !ops.yield(o, a) {
		ops.putJoined(o, []ir.Action{a})
	}
	return true
}

// called answers a rank that wants to put, now or when this rank has entered the operation. A rank
// that has entered h.Seq has ended all operations up to h.Seq-MaxOpen, and sent their puts. It needs
// no answer for these any more.
func (ops *operations) called(h *wire.Header) {
	if h.Seq <= ops.seq {
		ops.control(h.From, wire.FrameEntered, h.Seq, h.Print, 0)
		return
	}
	v := &ops.overlap
	v.calls = slices.DeleteFunc(v.calls, func(c call) bool { return c.from == h.From && c.seq+MaxOpen <= h.Seq })
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
		case !ops.agrees(o, &wire.Header{Kind: wire.FrameCall, Seq: c.seq, Print: c.print, From: c.from}):
		default:
			ops.control(c.from, wire.FrameEntered, c.seq, c.print, 0)
		}
	}
	ops.overlap.calls = kept
}

// peerEntered releases the puts to a rank that has entered their operation.
func (ops *operations) peerEntered(o *op, h *wire.Header) {
	if !o.isOpen() || !o.entries.asked.Has(h.From) {
		return // the puts have been released for another reason
	}
	o.entries.known = o.entries.known.With(h.From)
	o.outbox.Release(flow.ByEntry, func(a ir.Action) bool { return int(a.To) == h.From && ops.admitted(o, a) })
	ops.resume()
}
