// Package wire is the interface between a communicator and its transport: frames, the transports
// that carry them, and the sinks that take them. Programs that only use communicators do not need
// this package.
package wire

import (
	"math"
	"time"

	"github.com/schedgen/schedgen/ir"
)

// Transport moves frames between the ranks of its first communicator. It also moves the frames of
// further communicators among some of these ranks (Header.Comm). The ranks of a Transport are those
// of the first communicator; a further communicator numbers its own ranks itself. A transport is
// built when all ranks have met (see the packages below runtime) and then given to runtime.Join.
//
// Frames of one communicator never wait until another communicator takes its frames. A held frame
// ([Hold]) delays only the frames behind it in its lane of its communicator. So a process that is
// late for an operation of one communicator delays no other communicator.
//
// One goroutine at a time, under one lock, calls Put, Mcast, Poll and the methods of Windows. Wait
// is called without the lock, and may run at the same time. Any goroutine may call Wake at any
// time. Only Wait blocks.
type Transport interface {
	// Rank is this process's number in the first communicator. Size is the number of ranks in that
	// communicator.
	Rank() int
	Size() int
	// ID is the transport's identity: random bytes that all ranks agreed on when it was built.
	ID() [16]byte
	Caps() Caps

	// Put queues the reliable transfer of f to rank to, in order with all earlier Puts of the same
	// lane to that rank. Put copies f, and refers to f.Body until it has decremented *f.Unsent.
	Put(to int, f *Frame)
	// Mcast queues the unreliable transfer of f to all other ranks. A transport without multicast
	// decrements *f.Unsent and does nothing else, as if every copy were lost.
	Mcast(f *Frame)
	// Datagram queues the unreliable transfer of f to rank to, in addition to a put or instead of
	// one. It arrives at [Sink.Fragment]. A transport without datagrams drops f like Mcast.
	Datagram(to int, f *Frame)
	// Windows returns the windows of the ranks, or nil. Either all ranks have windows or none has.
	Windows() Windows
	// Poll sends queued frames as far as possible without blocking, and hands arrived frames to s.
	// It reports whether anything was sent or received. Each Poll offers held frames to s again.
	Poll(s Sink) bool
	// Wait parks the caller until Poll may find something to do, until Wake is called (also if that
	// was before Wait), or until d has passed; d < 0 means no limit. Wait may return early.
	Wait(d time.Duration)
	// Wake ends the running Wait, or else the next one.
	Wake()

	// Abandon drops all frames of communicator comm queued on LaneOps, multicasts included. When it
	// returns, their Unsent has been decremented and their bodies are no longer referred to. A
	// partly sent frame does not arrive. Other communicators are not affected. Abandon is not
	// called from within Poll.
	Abandon(comm uint8)
	// Forget says that communicator comm is closed at this rank. No frame is put in comm until its
	// number is reused with a higher Epoch. The transport still sends queued frames, and then frees
	// the resources that only comm uses. Later frames of comm are still offered to the sink. Forget
	// is not called from within Poll.
	Forget(comm uint8)
	// Stats returns the transport's counters since it was built.
	Stats() Stats
	// Close frees all resources of the transport. If bye is set, Close first sends the queued
	// frames and tells peers that this end closes; it gives up when no frame is taken for linger.
	// The peers then see [Closed], and otherwise [Broken].
	Close(bye bool, linger time.Duration) error
}

// Taker is a transport that knows how much of the puts to a rank on LaneOps the system has taken.
// Taken returns that in units of the transport's choice; it only grows.
type Taker interface {
	Taken(to int) uint64
}

// Opener is a transport that connects ranks one by one. Open connects this rank with another,
// unless they are connected, so that a later put does not wait for the connection. Open does not
// block. It follows the same locking rules as Put, which connects as well.
type Opener interface {
	Open(to int)
}

// Flusher is a transport that can send queued frames, as Poll does, without looking for arrivals,
// which takes time of its own. Flush follows the same locking rules as Poll.
type Flusher interface {
	Flush(s Sink) bool
}

// Caps says what a transport can do.
type Caps struct {
	Multicast bool  // Mcast reaches other ranks
	Direct    bool  // Datagram reaches one rank
	Datagram  int   // payload bytes of a multicast datagram, agreed by all ranks; 0 without multicast
	Room      int   // bytes of multicasts that every rank can buffer without a Poll, agreed by all; 0: no limit
	Local     int   // ranks on this host, this one included; 0: unknown
	RDMA      bool  // adapters write messages into the memory of their receivers
	Pace      *Pace // what copies cost in the memory that all ranks share, agreed by all; nil: unknown, or they do not share memory

	// Sealed says how a key protects what goes over the network: "no", "signed" or "encrypted". It is
	// empty if nothing goes over a network.
	Sealed string

	// Host is the host of each rank, by rank: ranks on one host have the same number. It is the
	// same list at all ranks. nil: unknown, unless Local counts all ranks.
	Host []int
}

// Lane separates frames that the receiver may hold back from others. Frames of one lane stay in
// order; frames of different lanes do not. Each communicator has its own LaneOps; all share
// LaneControl.
type Lane uint8

// The lanes.
const (
	LaneOps     Lane = iota // slots of collective operations; held until the receiver has entered the operation
	LaneControl             // rootless messages, their acknowledgements, and control; never held
	Lanes                   // number of lanes
)

// FrameKind is the kind of a frame.
type FrameKind uint8

// The kinds of frames.
const (
	FrameSlot       FrameKind = iota + 1 // a chunk with its bytes, or a signal
	FrameJoined                          // random-peer and adaptive root delay: the sender has entered Seq
	FrameLate                            // adaptive root delay: whether the multicast of Seq has missed the sender
	FrameProbe                           // "I am in Seq with fingerprint Print": sent when nothing moves; ranks that have returned from Seq pass it on, at most Arg times
	FrameAbort                           // the communicator has failed: Print is the cause, a number of package core, and Body the text; rank Arg has found it, rank Slot has caused it
	FramePublish                         // a rootless message; Seq is its number among those of its origin; an origin from the number of ranks on stands for messages about questions, see package core
	FrameLeave                           // the sender closes this communicator after operation Seq, in good order unless Arg is 1; Print is the fingerprint of Seq, or 0 if unknown
	FrameWant                            // the sender asks for parts of Seq: Body is runs of chunks (first and number, u32 each) or, in a datagram, of fragments; it has all chunks below Arg; Slot is Enter if the parts may only be late
	FrameTaken                           // all ranks in the sender's subtree have the multicast of Seq up to chunk Arg
	FrameCall                            // the sender has puts of Seq for the receiver, and asks it to say when it enters Seq
	FrameEntered                         // the sender, which was asked, has entered Seq
	FrameAbsent                          // rank Arg, which was asked, is inside no operation and has not entered Seq; if Print is 1, it has entered now
	FrameListen                          // the sender waits for rootless messages that the receiver relays; Print is their fingerprint
	FrameWatch                           // the sender asks for a sign of life
	FrameAlive                           // the sign of life that the sender was asked for; as a datagram with a Seq it says that signal Slot of that operation has arrived
	FrameAgree                           // ballot Seq: Arg is the sender's statement; Body lists the ranks that have gone, are lost and are silent, and the votes of the ranks below it; see package core
	FrameFlush                           // the sender asks whether the receiver and all ranks behind it have the messages of origin Arg below Seq
	FrameClash                           // the sender and the receiver differ in operation Seq, whose own fingerprint at the sender is Print, or about rootless messages if Arg is 1; Body is the length (u16) and text of the sender's call, and its fingerprints of the operations before (u32 each, last first)
	FrameDispute                         // Body is the text of a mismatch because of rank Slot, with both calls: the receiver tells all ranks
	FrameOver                            // operation Seq has ended at the sender; the receiver lacks a part of it
	FrameAck                             // all ranks in the sender's subtree have the messages of origin Arg below Seq, and their processes have taken all but the last Slot of these
	FrameLost                            // the sender lacks Slot messages of origin Arg from Seq on, and asks for them
	FrameAnswer                          // the answers of the sender's sub-tree to question Seq of origin Arg, folded: a survey.Answer; these ranks have the messages about questions of Arg below Slot, the lower half of a number
	FrameUnanswered                      // question Seq of origin Arg has no result, because a rank has left: a survey.Answer
	frameKinds
)

// Valid reports whether k is a kind of frame.
func (k FrameKind) Valid() bool { return k > 0 && k < frameKinds }

// MaxBody returns the greatest length in bytes of the body of a frame of kind k.
func (k FrameKind) MaxBody() int {
	switch k {
	case FrameSlot, FramePublish, FrameAgree, FrameAnswer, FrameUnanswered:
		return MaxBody
	}
	return MaxControl
}

// MaxBody is the greatest length in bytes of a frame's body, and so of a chunk.
const MaxBody = math.MaxInt32

// MaxControl is the greatest length in bytes of the body of a frame on LaneControl, except for
// messages, questions and answers of programs, and for agreements: see FrameKind.MaxBody.
const MaxControl = 1024

// Header is the head of a frame. All its fields have a fixed width on the wire.
type Header struct {
	Kind  FrameKind
	Lane  Lane
	Comm  uint8   // number of the communicator among those of the transport; 0 is the first
	Epoch uint32  // version of the membership
	Seq   uint64  // operation number; message number for FramePublish, FrameFlush, FrameAck and FrameLost; question number for FrameAnswer and FrameUnanswered
	Slot  ir.Slot // FrameSlot: the chunk or the receiver's signal; FrameAbort, FrameDispute: the rank that it is about; FrameFlush: a rank; FrameAck, FrameLost, FrameAnswer: a number of messages; FrameWant: Enter if the sender has heard nothing of the multicast
	Arg   uint32  // FrameSlot: for a put, how many chunks after Slot follow in the body; for a datagram, 1 if it answers a request; FrameWant, FrameTaken: a number of chunks; FramePublish, FrameFlush, FrameAck, FrameLost, FrameAnswer, FrameUnanswered, FrameAbort: origin; FrameLate: the sender's finding
	Print uint32  // fingerprint of the operation (its collective, algorithm, root, bytes as far as all ranks know them, element and chunks) and of all operations before it; FrameAbort: the cause
	Len   int     // bytes of the body
	From  int     // sender; the receiving transport sets it from the connection or the datagram's verified source
}

// Frame is an outgoing header with its body. For a datagram to one rank, Body may be the part of a
// body of Len bytes that begins at Offset, a multiple of Caps.Datagram. Otherwise Body is the whole
// body.
type Frame struct {
	Header
	Body   []byte
	Offset int
	Unsent *int // decremented, if not nil, when Body is no longer referred to
}

// Whole returns the length of the whole body. f.Body may be a part of it.
func (f *Frame) Whole() int { return max(f.Len, f.Offset+len(f.Body)) }

// Release says that nothing refers to Body any more: the frame has left, or does not leave.
func (f *Frame) Release() {
	if f.Unsent != nil {
		*f.Unsent--
	}
}

// Verdict is a sink's answer to a frame.
type Verdict uint8

// The verdicts.
const (
	Accept Verdict = iota // read the body into the returned buffer
	Hold                  // keep the frame and those behind it in its lane of its communicator, and ask again at the next Poll
	Drop                  // read the body and discard it
)

// Sink takes arriving frames. Only Poll calls its methods.
type Sink interface {
	// Body says where the body of a put frame goes. Poll calls it when the header has been read,
	// and again before every further read of the body. dst has length h.Len. The answer may change
	// from Accept to Drop between two calls, when the operation has returned and the buffer belongs
	// to the caller again.
	Body(h *Header) (dst []byte, v Verdict)
	// Arrived says that a frame's body is complete in the buffer that Body returned last. It is not
	// called for dropped frames.
	Arrived(h *Header, body []byte)
	// Fragment offers one datagram of a frame, multicast or not. payload belongs at offset in the
	// body, whose whole length is h.Len, and is valid only during the call. Hold asks the transport
	// to keep this datagram, within its limits, and to offer it again.
	Fragment(h *Header, offset int, payload []byte) Verdict
	// Ended says how the connections with rank have ended. No frame arrives from rank or goes to it
	// any more. Ended is called at most once for each rank. err says why, and is nil if how is
	// Closed. The transport does not judge what this means for the rank. If rank is this process,
	// how is Broken: the system refuses resources that the transport needs. Open connections then
	// still carry puts.
	Ended(rank int, how End, err error)
}

// Nobody is a Sink that takes nothing.
type Nobody struct{}

// Body implements [Sink].
func (Nobody) Body(*Header) ([]byte, Verdict) { return nil, Drop }

// Arrived implements [Sink].
func (Nobody) Arrived(*Header, []byte) {}

// Fragment implements [Sink].
func (Nobody) Fragment(*Header, int, []byte) Verdict { return Drop }

// Ended implements [Sink].
func (Nobody) Ended(int, End, error) {}

// End is how the connections with a peer have ended.
type End uint8

// The ends. If several apply, the last one in this order counts.
const (
	// Refused: the peer accepts no connection and has opened none. It may be dead, or may have
	// closed in good order.
	Refused End = iota + 1
	// Closed: the peer has said that it closes, and all its frames have been taken.
	Closed
	// Broken: a connection has ended without notice or cannot be used, or the peer has broken the
	// protocol.
	Broken
)

// Stats counts the traffic of a transport.
type Stats struct {
	PutFrames       uint64 `json:"put_frames"`      // sent
	PutBytes        uint64 `json:"put_bytes"`       // sent, in frames and through windows; a chunk in a window counts for each of its readers
	MemoryBytes     uint64 `json:"memory_bytes"`    // the part of PutBytes that went through memory which ranks share
	Flags           uint64 `json:"flags"`           // written; a flag for several ranks counts once
	Lent            uint64 `json:"lent"`            // chunks lent to receivers; a chunk for several ranks counts once
	GotFrames       uint64 `json:"got_frames"`      // received by put
	GotBytes        uint64 `json:"got_bytes"`       // received by put
	McastFrames     uint64 `json:"mcast_frames"`    // datagrams multicast
	McastBytes      uint64 `json:"mcast_bytes"`     // their payload
	DatagramFrames  uint64 `json:"datagram_frames"` // datagrams sent to one rank
	GotDatagrams    uint64 `json:"got_datagrams"`   // datagrams received and offered to the sink
	Foreign         uint64 `json:"foreign"`         // datagrams dropped: of another job, or not a frame
	Torn            uint64 `json:"torn"`            // datagrams dropped: truncated, or with inconsistent lengths
	Forged          uint64 `json:"forged"`          // datagrams dropped: the sender's address does not belong to its rank
	Early           uint64 `json:"early"`           // datagrams dropped: held ones beyond the transport's limit
	Injected        uint64 `json:"injected"`        // datagrams dropped by injected loss
	Unsendable      uint64 `json:"unsendable"`      // datagrams that the system refused to send
	Unauthenticated uint64 `json:"unauthenticated"` // datagrams dropped and connections closed: not sealed with the ranks' key
	Replayed        uint64 `json:"replayed"`        // datagrams dropped: sealed, but received before, too old to tell, or meant for other ranks
	Groups          uint64 `json:"groups"`          // multicast groups joined for communicators since the start
	GroupsRefused   uint64 `json:"groups_refused"`  // groups that could not be joined, or in which nothing was received
	Rejected        uint64 `json:"rejected"`        // connections closed because their opening was not that of a rank of this communicator
}
