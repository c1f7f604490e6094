package simnet

import (
	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/runtime/wire"
)

type processState uint8

const (
	absent    processState = iota // has not begun
	calling                       // inside a call
	computing                     // between calls, or at the end of its script
	closing
	closed
	crashed
)

// process is one rank: its core, its script, and its sockets.
type process struct {
	w     *world
	rank  int
	core  *core.Core
	state processState

	script
	driver
	sender
	receiver
	ending
	asking asking
}

// sender is the sending side of a process.
type sender struct {
	out     []*lane // by receiver and lane; nil until used
	waiting []*lane // lanes with frames that the system has not taken
	direct  outlet  // datagrams to one rank, which are sent first
	group   outlet  // multicasts
}

// receiver is the receiving side of a process.
type receiver struct {
	ready   []*lane // lanes with unread data, in the order in which it arrived
	grams   ring[*packet]
	inRoom  int // bytes of grams in the socket's buffer
	stash   []*packet
	overrun int // datagrams lost because the buffer was full
}

// ending records which peers have ended, and how this process ends.
type ending struct {
	gone    []bool
	leaving []int
	lost    []loss
	late    []bool // ranks that have not received everything in time
	healthy bool
	behind  int // bytes and frames to send at the last check
	silent  bool
	sealed  bool // nothing may be sent any more
}

func index(rank int, l wire.Lane) int { return rank*int(wire.Lanes) + int(l) }

// alive reports whether the process runs, or will run.
func (p *process) alive() bool { return p.state != closed && p.state != crashed }
