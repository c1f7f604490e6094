package core

import "github.com/schedgen/schedgen/ir"

// Event is one step of an operation, for [Config.Trace].
type Event struct {
	Kind EventKind
	Seq  uint64  // the operation, which this rank may not have entered yet
	Slot ir.Slot // the slot that has arrived or is sent; for a put signal, the receiver's slot
	Peer int     // sender or receiver; -1 for a multicast that is sent
}

// EventKind is the kind of an event.
type EventKind uint8

// The kinds of events.
const (
	EventArrived  EventKind = iota // a put has brought a slot
	EventReceived                  // datagrams have brought a slot, as its multicast or as an answer
	EventPut                       // a slot is put
	EventMcast                     // a chunk is multicast
	EventRepair                    // a repair of the schedule is carried out; Slot belongs to its first put
	EventAsked                     // Peer is asked for chunks that have not come
	EventFolded                    // a fold has made a slot; Peer is -1
)

// trace calls Config.Trace.
func (e *env) trace(k EventKind, seq uint64, s ir.Slot, peer int) {
	if e.Trace != nil {
		e.Trace(Event{k, seq, s, peer})
	}
}

// traceNew traces the arrival of a slot of o, unless it is set.
func (e *env) traceNew(k EventKind, o *op, s ir.Slot, from int) {
	if e.Trace != nil {
		e.traceUnset(k, o, s, from)
	}
}

func (e *env) traceUnset(k EventKind, o *op, s ir.Slot, from int) {
	if !o.machine.Has(s) {
		e.Trace(Event{k, o.seq, s, from})
	}
}
