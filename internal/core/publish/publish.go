package publish

import (
	"github.com/schedgen/schedgen/internal/core/internal/moment"
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Overlay says where rootless messages go; see package schedule.
type Overlay interface {
	// Channels appends to dst the ranks to which rank may send, without duplicates.
	Channels(dst []int, rank int) []int
	// Forward appends to dst the ranks to which rank passes on a message of origin that came from
	// rank from. For its own message, rank == origin == from.
	Forward(dst []int, rank, origin, from int) []int
	// Sender returns the rank from which rank gets the messages of origin, and origin for itself.
	Sender(rank, origin int) int
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

	Multicast  bool    // messages are multicast if the transport can
	Overlay    Overlay // the trees of acknowledgements, and of messages that are not multicast
	Print      uint32  // fingerprint of the parameters that all ranks share
	Window     int     // messages of one origin that may be under way at once
	Bytes      int     // bytes of messages that may be under way before the next one waits
	MaxMessage int     // greatest length of a message in bytes

	Repair moment.Time // base timeout of repairs

	// Offset is what the frames of this end add to the origin, to differ from those of another end
	// of the same rank.
	Offset int
	// AtOnce says that the host takes every message when it comes. So a message that has come is
	// taken, and a rank acknowledges only by time and by Answered.
	AtOnce bool
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
	// Severed fails the communicator because a rank has left, and messages cannot reach all ranks
	// without it. why says which.
	Severed(rank int, why string)
}

// Counts says what an end has done since it was made.
type Counts struct {
	Published uint64 // messages of this rank
	Delivered uint64 // messages that the process has taken
	Given     uint64 // messages put to ranks that had lost their multicasts
}

// Timer is the kind of a timer.
type Timer uint8

// The kinds of timers.
const (
	TimerAck  Timer = iota // messages that have come are acknowledged
	TimerLack              // messages that exist and have not come are asked for
	TimerLate              // an acknowledgement is overdue
)

// Messages is one rank's end of all rootless messages.
type Messages struct {
	Config  `state:"fixed"`
	host    Host
	members *presence.Roster
	frame   wire.Frame `state:"scratch"` // scratch, so that sending does not allocate

	inbox     inbox
	spare     spare     `state:"scratch"`
	incoming  []*parcel `state:"ignored"` // sender -> the message that a put has brought in part
	streams   []*stream // by origin; made when first heard of
	sources   sources
	listeners []int  // ranks that take messages from this rank, and are connected for that
	counts    Counts `state:"ignored"`

	longest int // bytes of the longest message that is multicast; -1: no message is
	share   int // bytes of a receiver's buffer that the multicasts of one origin may take; 0: no limit

	timed bool `state:"ignored"` // timers may run
	used  bool // a message has been published or awaited somewhere: if messages are multicast, all ranks must hear when this rank leaves
}

// New returns the end of rank cfg.Rank. members says which ranks have gone; its owner tells the end
// by Left.
func New(cfg Config, host Host, members *presence.Roster) *Messages {
	m := &Messages{Config: cfg, host: host, members: members, incoming: make([]*parcel, cfg.Size), streams: make([]*stream, cfg.Size), longest: -1}
	if m.Multicast && m.Caps.Multicast && m.Caps.Datagram > 0 {
		m.longest = m.MaxMessage
		if m.Caps.Room > 0 {
			m.longest = min(m.longest, max(m.Caps.Datagram, m.Caps.Room/2))
			m.share = max(m.Caps.Datagram, m.Caps.Room/m.Size)
		}
	}
	return m
}

// Multicasts reports whether some messages are multicast. If not, nothing is lost, and no timer runs.
func (m *Messages) Multicasts() bool { return m.longest >= 0 }

// Waiting returns how many messages have arrived that the process has not taken.
func (m *Messages) Waiting() int { return m.inbox.len() }

// Counts returns what this end has done.
func (m *Messages) Counts() Counts { return m.counts }

// control fills a frame without a body about the first seq messages of an origin.
func (m *Messages) control(k wire.FrameKind, seq uint64, slot, origin int) *wire.Frame {
	m.frame = wire.Frame{Header: wire.Header{
		Kind: k, Lane: wire.LaneControl, Epoch: m.Epoch, Seq: seq, Slot: ir.Slot(slot), Print: m.Print, Arg: uint32(m.Offset + origin), From: m.Rank,
	}}
	return &m.frame
}

// message fills a frame with a message of an origin.
func (m *Messages) message(origin int, seq uint64, p *parcel) *wire.Frame {
	m.frame = wire.Frame{
		Header: wire.Header{
			Kind: wire.FramePublish, Lane: wire.LaneControl, Epoch: m.Epoch, Seq: seq, Arg: uint32(m.Offset + origin),
			Print: m.Print, Len: len(p.data), From: m.Rank,
		},
		Body: p.data, Unsent: &p.unsent,
	}
	p.unsent++
	return &m.frame
}

// origin returns the origin that a frame is about.
func (m *Messages) origin(h *wire.Header) int { return int(h.Arg) - m.Offset }

// accepts checks the fields that all messages that are put have in common.
func (m *Messages) accepts(h *wire.Header) bool {
	switch {
	case h.Print != m.Print:
		m.host.Disagree(h)
	case m.origin(h) >= m.Size || m.origin(h) == m.Rank || h.Len > m.MaxMessage:
		m.host.Violation(h, "message of origin %d with %d bytes", m.origin(h), h.Len)
	default:
		return true
	}
	return false
}
