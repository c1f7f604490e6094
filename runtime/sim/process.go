package sim

import (
	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/wire"
)

type processState uint8

const (
	absent    processState = iota // it has not begun
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
}

// sender is a process's way out.
type sender struct {
	out     []*lane // by receiver and lane; nil until used
	waiting []*lane // with frames that the system has not taken
	direct  outlet  // datagrams to one rank, which go first
	group   outlet  // multicasts
}

// receiver is a process's way in.
type receiver struct {
	ready   []*lane // with something unread, in the order in which they became so
	grams   ring[*packet]
	inRoom  int // bytes of grams that the socket's buffer keeps
	stash   []*packet
	overrun int // datagrams lost because the buffer was full
}

// ending is how others end, and how this one does.
type ending struct {
	gone    []bool
	leaving []int
	lost    []loss
	late    []bool // those that have not got everything in time
	healthy bool
	behind  int // what was still to be sent when that was last looked at
	silent  bool
	sealed  bool // nothing may be sent any more
}

func index(rank int, l wire.Lane) int { return rank*int(wire.Lanes) + int(l) }

// alive reports whether the process runs, or will.
func (p *process) alive() bool { return p.state != closed && p.state != crashed }
