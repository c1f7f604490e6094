package runtime

import "github.com/schedgen/schedgen/internal/core"

// DelayPolicy decides when the root of a multicast broadcast starts. A rank that is not listening
// yet loses the multicast (paper 000, section 2.1). The policy delays the root's rules; it is no
// part of the schedule.
type DelayPolicy = core.DelayPolicy

// The root-delay policies.
const (
	// DelayNone: the root starts at once.
	DelayNone = core.DelayNone
	// DelayFixed: the root waits for Config.RootDelay.
	DelayFixed = core.DelayFixed
	// DelayAdaptive: in each operation one rank, drawn by a shared seed, tells the root when it has
	// entered, and whether the multicast has reached it. The root waits until that rank has entered,
	// but at most for a time, which grows if the multicast was too early for that rank, and shrinks
	// otherwise. If many of these ranks lose short multicasts of bcast/mcast-chain, the root chooses
	// bcast/mcast-binomial, which is faster then; all ranks follow it.
	DelayAdaptive = core.DelayAdaptive
	// DelayRandomPeer: the root waits until one rank, drawn by a shared seed for each operation,
	// has entered the operation.
	DelayRandomPeer = core.DelayRandomPeer
)
