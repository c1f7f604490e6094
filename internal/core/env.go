package core

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Time is a moment or a duration in nanoseconds. Moments count from 1 ns before the core was made
// and are greater than 0; 0 stands for no moment.
type Time = moment.Time

// never is later than every moment.
const never = moment.Never

// Config is the configuration of a core. All ranks of a communicator have the same, except for
// Rank.
type Config struct {
	Rank, Size int
	ID         [16]byte // random bytes that all ranks agree on
	Epoch      uint32   // version of the membership
	Only       bool     // this communicator's number is never used again, so a frame with another Epoch is a mismatch, not a leftover
	Caps       wire.Caps

	Delay     DelayPolicy
	RootDelay Time // the duration of DelayFixed

	Repair Time // base timeout of repairs
	Stall  Time // after this time without progress an operation probes its neighbour; 0: never

	Silence    Time // an awaited rank that gives no sign of life for this time is lost; 0: never
	FoldAtOnce int  // bytes; Work does longer folds in parts of this length; 0: no limit

	Retain int // bytes kept, over all past operations, to answer requests; one operation keeps Retain/Remembered bytes or nothing

	Causes []error // errors that keep their identity at other ranks, besides the core's own: errors of contexts

	Overlay       Overlay // trees of rootless messages
	Spread        bool    // rootless messages are multicast; binomial trees bring acknowledgements
	AskOverlay    Overlay // trees of questions; nil: Overlay
	AskSpread     bool    // questions and their results are multicast; binomial trees bring the answers
	PublishPrint  uint32  // fingerprint of the agreed parameters of rootless messages
	PublishWords  string  // the same in words, for a mismatch
	PublishWindow int     // rootless messages of one origin that may be under way at once
	PublishBytes  int     // bytes of rootless messages that may be under way before the next one waits
	MaxMessage    int     // greatest length of a rootless message in bytes

	Lost func(rank int, err error) // called once for each rank that this rank finds or hears to be lost, including itself; it must not call the core; nil: not called

	Trace func(Event) // called with each event of an operation; it must not call the core; nil: not called
}

// Net sends the frames of a core. It must not call the core.
type Net interface {
	Put(to int, f *wire.Frame)
	Mcast(f *wire.Frame)
	Datagram(to int, f *wire.Frame)
}

// env is shared by all parts of a core.
type env struct {
	Config `state:"fixed"`
	net    Net        `state:"ignored"`
	queued bool       `state:"scratch"` // a frame has been sent since the last call of Sent
	frame  wire.Frame `state:"scratch"` // scratch, so that sending does not allocate
}

// put sends f to a rank.
func (e *env) put(to int, f *wire.Frame) {
	e.queued = true
	e.net.Put(to, f)
}

// control sends a frame without a body on LaneControl.
func (e *env) control(to int, k wire.FrameKind, seq uint64, fingerprint, arg uint32) {
	e.put(to, e.fillControl(k, seq, fingerprint, arg))
}

func (e *env) fillControl(k wire.FrameKind, seq uint64, fingerprint, arg uint32) *wire.Frame {
	e.frame = wire.Frame{Header: wire.Header{
		Kind: k, Lane: wire.LaneControl, Epoch: e.Epoch, Seq: seq, Print: fingerprint, Arg: arg, From: e.Rank,
	}}
	return &e.frame
}

// allNear reports whether each rank says goodbye to all others.
func (e *env) allNear() bool { return presence.AllNear(e.Size) }

// hearsLeave reports whether a leaving rank says goodbye to this rank.
func (e *env) hearsLeave(rank int) bool {
	return presence.Near((rank-e.Rank+e.Size)%e.Size) || e.channel(e.Overlay, rank) || e.channel(e.AskOverlay, rank)
}

// channel reports whether this rank and another are neighbours in an overlay.
func (e *env) channel(o Overlay, rank int) bool {
	return slices.Contains(o.Channels(nil, rank), e.Rank) || slices.Contains(o.Channels(nil, e.Rank), rank)
}
