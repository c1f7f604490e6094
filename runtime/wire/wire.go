// Package wire is what a communicator and its transport say to each other:
// frames, what carries them, and what takes them. Programs that only use
// communicators need nothing of it.
package wire

import (
	"math"
	"time"

	"github.com/schedgen/schedgen/ir"
)

// Transport moves frames between the ranks of one communicator, and of others among
// some of the same processes (Header.Comm). Ranks are those of the first: the
// communicators above number their own. It is built connected to all of them (see the
// packages below runtime) and handed to runtime.Join.
//
// Frames of one communicator never wait for another's to be taken: a frame that is
// held ([Hold]) holds back those behind it in its lane of its communicator, and no
// others. So a process that is late for an operation of one communicator keeps nobody
// from going on with another.
//
// Put, Mcast, Poll and what Windows has are called by one goroutine at a time, under one lock; Wait is
// called without it, so it may run beside them; Wake may be called by anybody at any
// time. None but Wait blocks.
type Transport interface {
	// Rank is this process's number in the first communicator, and Size how many
	// ranks it has.
	Rank() int
	Size() int
	// ID is the transport's identity: random bytes agreed by all ranks
	// when it was built.
	ID() [16]byte
	Caps() Caps

	// Put queues the reliable transfer of f to rank to, in order with all
	// earlier Puts of the same lane to that rank. f itself is copied; f.Body
	// is referred to until *f.Unsent has been decremented.
	Put(to int, f *Frame)
	// Mcast queues the unreliable transfer of f to all other ranks. A
	// transport without multicast decrements *f.Unsent and does nothing:
	// every copy is lost.
	Mcast(f *Frame)
	// Datagram queues the unreliable transfer of f to rank to, beside or
	// instead of a put. It reaches [Sink.Fragment] there. A transport without
	// datagrams does as Mcast does.
	Datagram(to int, f *Frame)
	// Windows returns the windows of the ranks, nil if they have none: all have, or
	// none has.
	Windows() Windows
	// Poll sends what is queued, as far as that goes without blocking, and
	// hands what has arrived to s. It reports whether anything was sent or
	// received. Held frames are offered to s again at each Poll.
	Poll(s Sink) bool
	// Wait parks the caller until Poll may find something to do, until Wake
	// is called (also if that was before Wait), or until d has passed; d < 0
	// waits without limit. It may return early.
	Wait(d time.Duration)
	// Wake ends the running Wait, or else the next one.
	Wake()

	// Abandon forgets all frames of communicator comm queued on LaneOps, multicasts
	// included: their bodies are not referred to any more when it returns, and their
	// Unsent is decremented. A frame of which a part is sent does not arrive. Other
	// communicators are not concerned. It is not called from within Poll.
	Abandon(comm uint8)
	// Forget says that communicator comm is closed at this rank: nothing more is
	// put in it until its number is used again, with a higher Epoch. What is
	// queued is still sent, and then the transport gives back what it has for
	// comm alone. Frames of comm that come later are offered to the sink as
	// before. It is not called from within Poll.
	Forget(comm uint8)
	// Stats returns the transport's counters since it was built.
	Stats() Stats
	// Close gives everything back that the transport has taken. If bye is set, frames
	// still queued are sent first, as long as some are taken every linger, and peers
	// are told that this end closes: they see [Closed], else [Broken].
	Close(bye bool, linger time.Duration) error
}

// Taker is a transport that knows how much of what was put to a rank on LaneOps the system
// has taken, in units that only grow.
type Taker interface {
	Taken(to int) uint64
}

// Opener is a transport that connects ranks one by one. Open has it connect this rank with
// another, if it is not: who knows that something will be put there need not wait for that then. It does
// not block, and is called under the same rules as Put, which connects as well.
type Opener interface {
	Open(to int)
}

// Flusher is a transport that can send what is queued, as Poll does, without looking for what
// has arrived, which takes time of its own. It is called under the same rules as Poll.
type Flusher interface {
	Flush(s Sink) bool
}

// Caps is what a transport can do.
type Caps struct {
	Multicast bool // Mcast reaches other ranks
	Direct    bool // Datagram reaches one rank
	Datagram  int  // payload bytes of a multicast datagram, agreed by all ranks; 0 without multicast
	Room      int  // bytes of multicasts that every rank can take in without being polled, agreed by all; 0: nothing overruns
	Local     int  // ranks on this host, this one included; 0: unknown
	Hosts     int  // hosts, if ranks lie on them in the blocks of package schedule; 0: they do not, or unknown
	Rings     bool // to collect a long chunk from where it lies is slow on this host, beside a multicast through memory; only where all ranks share it, and agreed by all

	// Host says of every rank on which host it is: ranks that share one have the same
	// number. It is the same list at all ranks. nil: unknown, unless Local counts all.
	Host []int
}

// Lane separates frames that may be held back by the receiver from those that
// may not: frames of one lane are in order, those of different lanes are not.
// Each communicator has a LaneOps of its own; LaneControl is shared by all.
type Lane uint8

// The lanes.
const (
	LaneOps     Lane = iota // slots of collective operations; held until the receiver has come so far
	LaneControl             // rootless messages, their acknowledgements, and control; never held
	Lanes                   // number of lanes
)

// FrameKind tells what a frame carries.
type FrameKind uint8

// The kinds of frames.
const (
	FrameSlot    FrameKind = iota + 1 // a chunk with its bytes, or a signal
	FrameJoined                       // random-peer root delay: the sender has entered Seq
	FrameLate                         // adaptive root delay: how the sender met Seq's multicast
	FrameProbe                        // "I am in Seq with fingerprint Print": sent when nothing moves; ranks that have returned from Seq pass it on, Arg of them at most
	FrameAbort                        // the communicator has failed: Print is the cause, a number of package core, and Body says it in words; Arg has found it, Slot has caused it
	FrameCast                         // a rootless message; Seq counts those of its origin
	FrameCredit                       // rootless messages of an origin below Seq are consumed in the sender's subtree
	FrameLeave                        // the sender closes this communicator after operation Seq, in good order unless Arg is 1; Print is the fingerprint of Seq, 0 if it is not known
	FrameWant                         // the sender asks for parts of Seq: Body is runs, first and number, u32 each, of chunks, in a datagram of fragments; it has all chunks below Arg; Slot: enter if what it asks for may only be late
	FrameTaken                        // the multicast of Seq has been taken in up to chunk Arg in the whole subtree of the sender
	FrameCall                         // the sender has puts of Seq for the receiver, and asks it to say when it has entered Seq
	FrameEntered                      // the sender, who was asked, has entered Seq
	FrameAbsent                       // rank Arg, which was asked, is in no operation and has not entered Seq, or has after all if Print is 1
	FrameListen                       // the sender waits for rootless messages, which come by the receiver; Print is their fingerprint
	FrameWatch                        // the sender asks for a sign of life
	FrameAlive                        // the sign of life that the sender was asked for; as a datagram with a Seq it says that signal Slot of that operation has come
	FrameAgree                        // ballot Seq: Arg is what the sender says of it, and Body who has gone, is lost and is silent, and what the ranks below it have said; see package core
	FrameFlush                        // the sender asks whether the messages of origin Arg below Seq have come to the receiver and all behind it; Slot: the sender takes the part of that rank, which has left
	FrameFlushed                      // they have
	FramePassed                       // the sender, which leaves, has had the messages of origin Arg below Seq and has passed them on
	FrameClash                        // the sender differs from the receiver in operation Seq, which at that has the fingerprint Print by itself, or about rootless messages if Arg is 1; Body is the length, u16, of its own call in words, the words, and its fingerprints of the operations before, u32 each, the last first
	FrameDispute                      // Body is a mismatch in words, of both sides, because of rank Slot: the receiver tells all
	FrameOver                         // operation Seq, of which the receiver lacks something, has ended at the sender
	frameKinds
)

// Valid reports whether k is a kind of frame.
func (k FrameKind) Valid() bool { return k > 0 && k < frameKinds }

// MaxBody is the largest body, in bytes, that a frame can carry: a chunk is no longer.
const MaxBody = math.MaxInt32

// MaxControl is the largest body, in bytes, of a frame on LaneControl other
// than FrameCast and FrameAgree.
const MaxControl = 1024

// Header is the head of a frame, with fixed width on every wire.
type Header struct {
	Kind  FrameKind
	Lane  Lane
	Comm  uint8   // the communicator, of those that share the transport; 0 is the first
	Epoch uint32  // version of the membership
	Seq   uint64  // operation number; message number for FrameCast, FrameCredit, FrameFlush, FrameFlushed and FramePassed
	Slot  ir.Slot // FrameSlot: the chunk or the receiver's signal; FrameAbort: the number of the rank that it is about, as of FrameDispute; FrameFlush: a rank; FrameWant: Enter if the sender has heard nothing of the multicast
	Arg   uint32  // FrameSlot: of a put how many chunks beyond Slot the body has, one behind the other; 1 for a datagram that answers a request; FrameWant, FrameTaken: a number of chunks; FrameCast, FrameCredit, FrameFlush, FrameFlushed, FramePassed, FrameAbort: origin; FrameLate: the sender's finding
	Print uint32  // fingerprint of the operation, of its collective, algorithm, root, bytes as far as all ranks know them, element and chunks, and of all operations before it; FrameAbort: the cause
	Len   int     // bytes of the body
	From  int     // sender; set by the receiving transport, from the connection or the datagram's checked source
}

// Frame is a header and its body on the way out. Of what goes as a datagram to
// one rank, Body may be a part of a body of Len bytes, from Offset on, a multiple of
// Caps.Datagram; otherwise Body is all of it.
type Frame struct {
	Header
	Body   []byte
	Offset int
	Unsent *int // decremented, if not nil, when Body is no longer referred to
}

// Whole returns the length of the body that f is of, or a part of.
func (f *Frame) Whole() int { return max(f.Len, f.Offset+len(f.Body)) }

// Verdict is a sink's answer to a frame.
type Verdict uint8

// The verdicts.
const (
	Accept Verdict = iota // read the body into the buffer returned
	Hold                  // not yet: leave it and everything behind it in its lane of its communicator, nothing else; ask again at the next Poll
	Drop                  // read the body and throw it away
)

// Sink takes what arrives. Its methods are called by Poll only.
type Sink interface {
	// Body is asked where the body of a put frame goes, when its header has
	// been read and again before every further read of it: dst has length
	// h.Len. Between two calls the answer may turn from Accept to Drop (the
	// operation has returned and its buffer is the caller's again).
	Body(h *Header) (dst []byte, v Verdict)
	// Arrived says that a frame's body is complete in the buffer last
	// returned by Body. It is not called for dropped frames.
	Arrived(h *Header, body []byte)
	// Fragment offers one datagram of a frame, multicast or not: payload is
	// what belongs at offset in the body, whose whole length is h.Len. The
	// payload is only valid during the call. Hold asks the transport to keep
	// this datagram, within its bounds, and to offer it again.
	Fragment(h *Header, offset int, payload []byte) Verdict
	// Ended says how the connections with rank have ended: nothing more comes from
	// it, and nothing more goes there. It is called at most once for each rank. err
	// says why, and is nil if how is Closed. What that means for the rank is not the
	// transport's to judge. If rank is this one, how is Broken and it is this process
	// that cannot go on: the system refuses it what the transport needs. Connections
	// that are open still carry what is put.
	Ended(rank int, how End, err error)
}

// End is how connections with a peer end.
type End uint8

// The ends. Of several that are found the last in this order counts.
const (
	// Refused: the peer takes no connections, and none of its own is open. It may be
	// dead, or may have closed in good order.
	Refused End = iota + 1
	// Closed: the peer has said that it closes, and all that it sent has been taken.
	Closed
	// Broken: a connection has ended without a word or cannot be used, or the peer
	// has broken the protocol.
	Broken
)

// Stats counts what went over a transport.
type Stats struct {
	PutFrames       uint64 `json:"put_frames"`      // sent
	PutBytes        uint64 `json:"put_bytes"`       // sent
	Flags           uint64 `json:"flags"`           // written; one for several ranks counts once
	Lent            uint64 `json:"lent"`            // chunks that others have copied, or may copy, from where they lie; one for several ranks counts once
	GotFrames       uint64 `json:"got_frames"`      // received by put
	GotBytes        uint64 `json:"got_bytes"`       // received by put
	McastFrames     uint64 `json:"mcast_frames"`    // datagrams multicast
	McastBytes      uint64 `json:"mcast_bytes"`     // datagrams multicast
	DatagramFrames  uint64 `json:"datagram_frames"` // datagrams sent to one rank
	GotDatagrams    uint64 `json:"got_datagrams"`   // datagrams received and offered to the sink
	Foreign         uint64 `json:"foreign"`         // datagrams dropped: of another communicator, or no frame at all
	Torn            uint64 `json:"torn"`            // datagrams dropped: cut short, or with lengths that do not fit
	Forged          uint64 `json:"forged"`          // datagrams dropped: sender's address does not belong to its rank
	Early           uint64 `json:"early"`           // datagrams dropped: held ones beyond the transport's bound
	Injected        uint64 `json:"injected"`        // datagrams dropped by injected loss
	Unsendable      uint64 `json:"unsendable"`      // datagrams that the system refused to send
	Unauthenticated uint64 `json:"unauthenticated"` // datagrams dropped, and connections given up: not sealed with the ranks' key
	Replayed        uint64 `json:"replayed"`        // datagrams dropped: sealed, but have come before, or are too old to tell
	Groups          uint64 `json:"groups"`          // multicast groups joined for communicators since the start
	GroupsRefused   uint64 `json:"groups_refused"`  // such groups that could not be joined, or in which nothing was heard
	Rejected        uint64 `json:"rejected"`        // connections closed because they did not open as a rank of this communicator would
}
