package publish

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core/internal/encode"
	"github.com/schedgen/schedgen/runtime/core/internal/moment"
	"github.com/schedgen/schedgen/runtime/core/presence"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Overlay says where rootless messages go; see package schedule.
type Overlay interface {
	// Channels appends to dst the ranks to which rank may send, without duplicates.
	Channels(dst []int, rank int) []int
	// Forward appends to dst the ranks to which rank passes on a message of origin that came from
	// rank from. For its own message, rank == origin == from.
	Forward(dst []int, rank, origin, from int) []int
}

// Message is a rootless message. Data belongs to the receiver.
type Message struct {
	Origin int    // the rank that published it
	Seq    uint64 // its number among the origin's messages, from 0
	Data   []byte
}

// Config is the configuration of a rank's end. All ranks have the same, except for Rank.
type Config struct {
	Rank, Size int
	Epoch      uint32    // version of the membership
	Caps       wire.Caps // of the transport

	Multicast  bool    // messages are multicast, and binomial trees bring acknowledgements; otherwise they go along the overlay
	Overlay    Overlay // the trees of messages that are not multicast
	Print      uint32  // fingerprint of the parameters that all ranks share
	Window     int     // messages of one origin that may be under way at once
	Bytes      int     // bytes of messages that may be under way before the next one waits
	MaxMessage int     // greatest length of a message in bytes

	Repair moment.Time // base timeout of repairs
}

// Host is the communicator of a rank's end. Its methods must not call the end.
type Host interface {
	Put(to int, f *wire.Frame)
	Mcast(f *wire.Frame)

	// Failed reports whether the communicator has failed. Messages then stay where they are.
	Failed() bool
	// Disagree takes a frame whose sender has another Print.
	Disagree(h *wire.Header)
	// Violation fails the communicator because of a frame that no correct rank sends.
	Violation(h *wire.Header, format string, args ...any)
	// Severed fails the communicator during the call name because a rank has left, and messages
	// cannot reach all ranks without it. why says which.
	Severed(name string, rank int, why string)
}

// Messages is one rank's end of all rootless messages.
type Messages interface {
	HasRoom() bool         // whether another message may be published
	Publish(msg []byte)    // publishes a copy of msg, for which there is room
	Flush() uint64         // asks whether this rank's messages have arrived; returns their number
	Flushed(n uint64) bool // whether the first n have arrived everywhere

	Came(origin int) uint64 // how many messages of an origin have arrived here, in order
	Waiting() int           // messages that have arrived and that the process has not taken
	Take() Message          // takes the oldest of them
	Listen()                // the process waits for messages
	Sources() []int         // the ranks that send messages here

	Left(rank int)           // another rank has left
	Farewells()              // this rank is about to leave: it passes on what others still need
	Parting(dst []int) []int // appends the ranks that must hear when this rank leaves

	// Body says where the body of a [wire.FramePublish] goes, or that the frame is dropped.
	Body(h *wire.Header) ([]byte, wire.Verdict)
	// Arrived takes a frame of one of the kinds publish, credit, flush, flushed, passed, ack, lost
	// and listen, whose body is complete.
	Arrived(h *wire.Header)
	// Fragment takes a datagram of a multicast. It returns false if the datagram is invalid.
	Fragment(h *wire.Header, offset int, payload []byte) bool

	Timed() bool          // whether a timer may run
	Due() moment.Time     // when Tick next has something to do
	Tick(now moment.Time) // does what is due

	Counts() Counts

	// Clone returns an independent copy for another host and its roster.
	Clone(host Host, members *presence.Roster) Messages
	// AppendState appends the state that determines all later steps.
	AppendState(dst []byte) []byte
	// Alarms appends the timers that run.
	Alarms(dst []Alarm) []Alarm
	// Ring makes the timer of an alarm run out at the moment at.
	Ring(a Alarm, at moment.Time)
	// Normalize makes all timers run out at the moment at.
	Normalize(at moment.Time)
}

// Counts says what an end has done since it was made.
type Counts struct {
	Published uint64 // messages of this rank
	Delivered uint64 // messages that the process has taken
	Given     uint64 // messages put to ranks that had lost their multicasts
}

// Alarm is a timer that runs.
type Alarm struct {
	Kind   AlarmKind
	Origin int // whose messages the timer is about
	Rank   int // AlarmLate: the rank whose acknowledgement is missing
}

// AlarmKind is the kind of an alarm.
type AlarmKind uint8

// The kinds of alarms.
const (
	AlarmAck  AlarmKind = iota // messages that have come are acknowledged
	AlarmLack                  // messages that exist and have not come are asked for
	AlarmLate                  // an acknowledgement is overdue
)

// New returns the end of rank cfg.Rank. members says which ranks have gone; its owner tells the end
// by Left.
func New(cfg Config, host Host, members *presence.Roster) Messages {
	e := end{Config: cfg, host: host, members: members, incoming: make([]*parcel, cfg.Size)}
	if cfg.Multicast {
		return newMulticast(e)
	}
	return newTree(e)
}

// end is what both kinds of ends have.
type end struct {
	Config
	host    Host
	members *presence.Roster
	frame   wire.Frame // scratch, so that sending does not allocate

	inbox     inbox
	incoming  []*parcel // sender -> the message that a put has brought in part
	listening bool      // the process waits, or has waited, for messages
	counts    Counts
}

// Waiting implements [Messages].
func (e *end) Waiting() int { return e.inbox.len() }

// Counts implements [Messages].
func (e *end) Counts() Counts { return e.counts }

// listenTo connects this rank with its sources, once.
func (e *end) listenTo(sources []int) {
	if e.listening {
		return
	}
	e.listening = true
	for _, rank := range sources {
		if !e.members.Gone(rank) {
			e.host.Put(rank, e.control(wire.FrameListen, 0, 0, 0))
		}
	}
}

// control fills a frame without a body about the first seq messages of an origin.
func (e *end) control(k wire.FrameKind, seq uint64, slot, origin int) *wire.Frame {
	e.frame = wire.Frame{Header: wire.Header{
		Kind: k, Lane: wire.LaneControl, Epoch: e.Epoch, Seq: seq, Slot: ir.Slot(slot), Print: e.Print, Arg: uint32(origin), From: e.Rank,
	}}
	return &e.frame
}

// message fills a frame with a message of an origin.
func (e *end) message(origin int, seq uint64, p *parcel) *wire.Frame {
	e.frame = wire.Frame{
		Header: wire.Header{
			Kind: wire.FramePublish, Lane: wire.LaneControl, Epoch: e.Epoch, Seq: seq, Arg: uint32(origin),
			Print: e.Print, Len: len(p.data), From: e.Rank,
		},
		Body: p.data, Unsent: &p.unsent,
	}
	p.unsent++
	return &e.frame
}

// accepts checks the fields that all messages that are put have in common.
func (e *end) accepts(h *wire.Header) bool {
	switch {
	case h.Print != e.Print:
		e.host.Disagree(h)
	case int(h.Arg) >= e.Size || int(h.Arg) == e.Rank || h.Len > e.MaxMessage:
		e.host.Violation(h, "message of origin %d with %d bytes", h.Arg, h.Len)
	default:
		return true
	}
	return false
}

// refuse takes a frame that only the other kind of end has. Its sender has another configuration,
// or is wrong.
func (e *end) refuse(h *wire.Header, travel string) {
	if h.Print != e.Print {
		e.host.Disagree(h)
		return
	}
	e.host.Violation(h, "unexpected frame kind %d about messages that are %s", h.Kind, travel)
}

// clone returns an independent copy.
func (e *end) clone(host Host, members *presence.Roster) end {
	n := *e
	n.host, n.members = host, members
	n.inbox = e.inbox.clone()
	n.incoming = make([]*parcel, len(e.incoming))
	for i, p := range e.incoming {
		if p != nil {
			n.incoming[i] = p.clone()
		}
	}
	return n
}

// state is a state under construction.
type state struct{ encode.Buffer }
