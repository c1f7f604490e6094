package selection

import "github.com/schedgen/schedgen/schedule"

// longMessage is from where on a pipeline beats a tree without multicast, in
// bytes.
const longMessage = 64 << 10

// builtin is never written to.
var builtin = Rules{list: []Rule{
	{Collective: schedule.Barrier, Ranks: Range{To: 3}, Algorithm: "barrier/dissemination",
		Reason: "two ranks tell each other: as many messages as with a tree, and one hop less"},
	{Collective: schedule.Barrier, Algorithm: "barrier/hsb", Params: Params{Masters: true},
		Reason: "the fewest messages"},
	{Collective: schedule.Bcast, Multicast: With, Algorithm: "bcast/mcast-chain",
		Reason: "the time does not grow with the ranks, and a loss costs a hop"},
	{Collective: schedule.Bcast, Bytes: Range{To: longMessage}, Algorithm: "bcast/binomial", Params: Params{Masters: true},
		Reason: "the fewest rounds"},
	{Collective: schedule.Bcast, Algorithm: "bcast/chain", Params: Params{Masters: true},
		Reason: "every link carries the message once, and all at the same time"},
	{Collective: schedule.Anycast, Algorithm: "anycast/skip-ring",
		Reason: "two channels a rank on average"},
}}

// Builtin returns the rules that decide where no others do.
func Builtin() *Rules { return &builtin }
