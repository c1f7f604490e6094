package runtime

import (
	"time"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core"
)

// EventKind is what an event of [Observe.Trace] is.
type EventKind string

// The kinds of events.
const (
	EventBegan    EventKind = "began"    // an operation has begun at this rank: Op, Root and Bytes say which
	EventArrived  EventKind = "arrived"  // a put of Peer's has brought Slot, perhaps before the operation has begun
	EventReceived EventKind = "received" // datagrams of Peer's have brought Slot
	EventPut      EventKind = "put"      // Slot is put to Peer
	EventMcast    EventKind = "mcast"    // Slot is multicast; Peer is -1
	EventRepair   EventKind = "repair"   // a repair is carried out, the first of whose puts is Slot to Peer
	EventAsked    EventKind = "asked"    // Peer is asked for chunks that have not come
	EventFolded   EventKind = "folded"   // Slot is folded, from what has come and what this rank contributes; Peer is -1
	EventEnded    EventKind = "ended"    // the operation has ended; Err says how
)

// Event is something that an operation of a rank does.
type Event struct {
	Kind EventKind
	At   time.Time // by Config.Clock
	Comm uint8     // the communicator, of those that share the transport; 0 is the first
	Rank int       // in it
	Seq  uint64    // the operation, from 1

	Op    string // "bcast/mcast-chain"
	Root  int    // -1: it has none
	Bytes int    // of the message

	Slot ir.Slot // a signal that is put is the receiver's
	Peer int
	Err  error

	Process int    // this process's rank in the first communicator
	First   int    // the process of the communicator's rank 0: with Comm and Epoch it tells those of a job apart
	Epoch   uint32 // of the communicator
}

// traced are the kinds of what a core does.
var traced = [...]EventKind{
	core.EventArrived: EventArrived, core.EventReceived: EventReceived, core.EventPut: EventPut,
	core.EventMcast: EventMcast, core.EventRepair: EventRepair, core.EventAsked: EventAsked,
	core.EventFolded: EventFolded,
}

// coreTrace returns what the core is to tell of itself; nil: nothing.
func (c *Comm) coreTrace() func(core.Event) {
	if c.cfg.Observe.Trace == nil {
		return nil
	}
	return func(e core.Event) {
		c.trace(Event{Kind: traced[e.Kind], Seq: e.Seq, Slot: e.Slot, Peer: e.Peer})
	}
}

// trace tells an event, and when it is.
func (c *Comm) trace(e Event) {
	e.At, e.Comm, e.Rank = c.drv.clock.Now(), c.number, c.rank
	e.Process, e.First, e.Epoch = c.drv.tr.Rank(), c.endpointOf(0), c.cfg.Epoch
	c.cfg.Observe.Trace(e)
}

// traceBegin tells that r begins.
func (c *Comm) traceBegin(r *Request) {
	if c.cfg.Observe.Trace == nil {
		return
	}
	c.trace(Event{Kind: EventBegan, Seq: r.seq, Op: r.plan.Name, Root: r.plan.Root(), Bytes: r.mem.Block})
}

// traceEnd tells that r has ended, which had begun.
func (c *Comm) traceEnd(r *Request, err error) {
	if c.cfg.Observe.Trace != nil {
		c.trace(Event{Kind: EventEnded, Seq: r.seq, Err: err})
	}
}
