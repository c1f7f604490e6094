package sim

import (
	"github.com/schedgen/schedgen/sim/link"
	"github.com/schedgen/schedgen/sim/queue"
)

// Link is one direction of a host's connection to the switch.
type Link = link.Link[Time]

// LinkCount is what crossed a link.
type LinkCount = link.Count[Time]

// pipe is a link in use, departure when some bytes leave its queue.
type (
	pipe      = link.Pipe[Time]
	departure = link.Departure[Time]
)

// ring is a queue whose memory is used again.
type ring[T any] = queue.Ring[T]
