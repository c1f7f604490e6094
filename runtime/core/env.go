package core

import (
	"github.com/schedgen/schedgen/runtime/wire"
)

// Time is a moment or a span in nanoseconds. Moments count from one before the
// core was made and are greater than 0, which stands for none.
type Time int64

// never is later than every moment.
const never = Time(1<<63 - 1)

// Config is what a core is given. All ranks of a communicator are given the
// same; only Rank differs.
type Config struct {
	Rank, Size int
	ID         [16]byte // random bytes that all ranks agree on
	Epoch      uint32   // version of the membership
	Only       bool     // no other communicator has had, or will have, this one's number: frames of another Epoch are a mismatch, not stale
	Caps       wire.Caps

	Delay     DelayPolicy
	RootDelay Time // the duration of DelayFixed

	Repair Time // base timeout of repairs
	Stall  Time // an operation that has not moved for so long is probed; 0: none is

	Silence    Time // a rank that is waited for and gives no sign of life for so long is lost; 0: none is
	FoldAtOnce int  // bytes: a longer fold is done in parts of so many, by Work; 0: none is

	Retain int // bytes kept, over all past operations, to answer requests

	Causes []error // errors of the process that all ranks are told apart by, besides the core's own: those of contexts

	Overlay    Overlay // the trees of rootless messages
	CastPrint  uint32  // fingerprint of what ranks agree on for them
	CastWords  string  // that in words, for who does not agree
	CastWindow int     // rootless messages of one origin under way
	CastBytes  int     // bytes of them before another one has to wait
	MaxMessage int     // bytes of one at most

	Lost func(rank int, err error) // is told of each rank that this one finds or hears to be lost, itself too, once; it must not call the core. nil: nobody is

	Trace func(Event) // is told what operations do; it must not call the core. nil: nobody is
}

// Net is the way out: what a core sends. It must not call the core.
type Net interface {
	Put(to int, f *wire.Frame)
	Mcast(f *wire.Frame)
	Datagram(to int, f *wire.Frame)
}

// env is what the parts of a core have in common.
type env struct {
	Config
	net    Net
	queued bool       // something has been sent since that was last asked
	frame  wire.Frame // scratch, so that sending does not allocate
}

// put sends f to a rank.
func (e *env) put(to int, f *wire.Frame) {
	e.queued = true
	e.net.Put(to, f)
}

// control sends a frame without a body on the lane that is never held.
func (e *env) control(to int, k wire.FrameKind, seq uint64, fingerprint, arg uint32) {
	e.put(to, e.fillControl(k, seq, fingerprint, arg))
}

func (e *env) fillControl(k wire.FrameKind, seq uint64, fingerprint, arg uint32) *wire.Frame {
	e.frame = wire.Frame{Header: wire.Header{
		Kind: k, Lane: wire.LaneControl, Epoch: e.Epoch, Seq: seq, Print: fingerprint, Arg: arg, From: e.Rank,
	}}
	return &e.frame
}
