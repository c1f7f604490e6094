package simnet

import (
	"github.com/schedgen/schedgen/internal/model/link"
	"github.com/schedgen/schedgen/internal/model/queue"
)

// Link describes one direction of a host's connection to the switch.
type Link = link.Link[Time]

// LinkCount counts what crossed a link.
type LinkCount = link.Count[Time]

// pipe is a link in use, and departure the time at which some bytes leave its queue.
type (
	pipe      = link.Pipe[Time]
	departure = link.Departure[Time]
)

// ring is a queue that reuses its memory.
type ring[T any] = queue.Ring[T]
