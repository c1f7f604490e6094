package cli

import "github.com/schedgen/schedgen/cli/internal/crew"

// The transports of run.
const (
	overMem    = crew.Mem
	overTCP    = crew.TCP
	overMcast  = crew.Mcast
	overShm    = crew.Shm
	overHybrid = crew.Hybrid
	overVerbs  = crew.Verbs
	overAuto   = "auto" // the best transport that works
)
