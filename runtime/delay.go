package runtime

import "github.com/schedgen/schedgen/runtime/core"

// DelayPolicy decides when the root of a broadcast by multicast starts: a
// multicast that meets nobody listening is lost (paper 000, section 2.1). The
// policy gates the root's rules and is no part of the schedule.
type DelayPolicy = core.DelayPolicy

// The root-delay policies.
const (
	// DelayNone: the root starts at once.
	DelayNone = core.DelayNone
	// DelayFixed: the root waits for Config.RootDelay.
	DelayFixed = core.DelayFixed
	// DelayAdaptive: one rank per operation, drawn by a shared seed, tells the
	// root whether it was too late for the multicast; the root waits longer
	// after each "too late" and less after each "in time".
	DelayAdaptive = core.DelayAdaptive
	// DelayRandomPeer: the root waits until one rank, drawn by a shared seed
	// for each operation, has entered.
	DelayRandomPeer = core.DelayRandomPeer
)
