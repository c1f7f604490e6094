package runtime

import (
	"time"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
)

// EventKind is the kind of an event of [Observe.Trace].
type EventKind string

// The kinds of events.
const (
	EventBegan    EventKind = "began"    // an operation has begun at this rank: see Op, Root and Bytes
	EventArrived  EventKind = "arrived"  // a put of Peer has brought Slot, perhaps before the operation began here
	EventReceived EventKind = "received" // datagrams of Peer have brought Slot
	EventPut      EventKind = "put"      // Slot is put to Peer
	EventMcast    EventKind = "mcast"    // Slot is multicast; Peer is -1
	EventRepair   EventKind = "repair"   // this rank carries out a repair, whose first put is Slot to Peer
	EventAsked    EventKind = "asked"    // this rank asks Peer for chunks that have not come
	EventFolded   EventKind = "folded"   // Slot is folded from received and own contributions; Peer is -1
	EventEnded    EventKind = "ended"    // the operation has ended; Err is its error
)

// Event is one step of an operation at a rank.
type Event struct {
	Kind EventKind // what happened
	At   time.Time // by Config.Clock
	Comm uint8     // the communicator's number on the transport; 0 is the first
	Rank int       // this rank in the communicator
	Seq  uint64    // the operation's number, from 1

	Op    string // EventBegan: the operation, such as "bcast/mcast-chain"
	Root  int    // EventBegan: the root; -1: the operation has none
	Bytes int    // EventBegan: bytes of a block; for a broadcast, of the message

	Slot ir.Slot // for a put signal, the receiver's slot
	Peer int     // the other rank; -1: none; not set for EventBegan and EventEnded
	Err  error   // EventEnded: the operation's error, or nil

	Process int    // this process's rank in the first communicator
	First   int    // the process of the communicator's rank 0: First, Comm and Epoch together identify a communicator of a job
	Epoch   uint32 // of the communicator
}

// traced maps the core's events to kinds.
var traced = [...]EventKind{
	core.EventArrived: EventArrived, core.EventReceived: EventReceived, core.EventPut: EventPut,
	core.EventMcast: EventMcast, core.EventRepair: EventRepair, core.EventAsked: EventAsked,
	core.EventFolded: EventFolded,
}

// coreTrace returns the core's trace function; nil: no trace.
func (c *Comm) coreTrace() func(core.Event) {
	if c.cfg.Observe.Trace == nil {
		return nil
	}
	return func(e core.Event) {
		c.trace(Event{Kind: traced[e.Kind], Seq: e.Seq, Slot: e.Slot, Peer: e.Peer})
	}
}

// trace fills in time and place of e and calls Config.Observe.Trace.
func (c *Comm) trace(e Event) {
	e.At, e.Comm, e.Rank = c.drv.clock.Now(), c.number, c.rank
	e.Process, e.First, e.Epoch = c.drv.tr.Rank(), c.endpointOf(0), c.cfg.Epoch
	c.cfg.Observe.Trace(e)
}

// traceBegin traces the begin of r.
func (c *Comm) traceBegin(r *Request) {
	if c.cfg.Observe.Trace == nil {
		return
	}
	c.trace(Event{Kind: EventBegan, Seq: r.seq, Op: r.plan.Name, Root: r.plan.Root(), Bytes: r.mem.Block})
}

// traceEnd traces the end of r, which had begun.
func (c *Comm) traceEnd(r *Request, err error) {
	if c.cfg.Observe.Trace != nil {
		c.trace(Event{Kind: EventEnded, Seq: r.seq, Err: err})
	}
}
