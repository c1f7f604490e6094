package runtime

import "github.com/schedgen/schedgen/runtime/wire"

// What transports are made of has a package of its own. TODO
type (
	Transport = wire.Transport
	Caps      = wire.Caps
	Lane      = wire.Lane
	FrameKind = wire.FrameKind
	Header    = wire.Header
	Frame     = wire.Frame
	Verdict   = wire.Verdict
	Sink      = wire.Sink
	Stats     = wire.Stats
)

const (
	LaneOps     = wire.LaneOps
	LaneControl = wire.LaneControl
	Lanes       = wire.Lanes
	FrameSlot   = wire.FrameSlot
	FrameJoined = wire.FrameJoined
	FrameLate   = wire.FrameLate
	FrameProbe  = wire.FrameProbe
	FrameAbort  = wire.FrameAbort
	FrameCast   = wire.FrameCast
	FrameCredit = wire.FrameCredit
	FrameLeave  = wire.FrameLeave
	FrameWant   = wire.FrameWant
	FrameTaken  = wire.FrameTaken
	MaxControl  = wire.MaxControl
	Accept      = wire.Accept
	Hold        = wire.Hold
	Drop        = wire.Drop
)
