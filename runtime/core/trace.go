package core

import "github.com/schedgen/schedgen/ir"

// Event is something that an operation does, for [Config.Trace].
type Event struct {
	Kind EventKind
	Seq  uint64  // the operation, which this rank may not have entered yet
	Slot ir.Slot // that has come, or is sent: a signal that is put is the receiver's
	Peer int     // whom it comes from or goes to; of a multicast that is sent -1
}

// EventKind is what an event is.
type EventKind uint8

// The kinds of events.
const (
	EventArrived  EventKind = iota // a put has brought a slot
	EventReceived                  // datagrams have brought a slot, as its multicast or as an answer
	EventPut                       // a slot is put
	EventMcast                     // a chunk is multicast
	EventRepair                    // a repair of the schedule is carried out; Slot is what its first action puts
	EventAsked                     // Peer is asked for chunks that have not come
	EventFolded                    // a fold has made a slot; Peer is -1
)

// trace tells who wants to know.
func (e *env) trace(k EventKind, seq uint64, s ir.Slot, peer int) {
	if e.Trace != nil {
		e.Trace(Event{k, seq, s, peer})
	}
}

// traceNew tells of a slot of o that has come, unless it is there.
func (e *env) traceNew(k EventKind, o *op, s ir.Slot, from int) {
	if e.Trace != nil && !o.machine.Has(s) {
		e.Trace(Event{k, o.seq, s, from})
	}
}
