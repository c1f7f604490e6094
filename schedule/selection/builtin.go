package selection

import "github.com/schedgen/schedgen/schedule"

// longMessage is the length in bytes from which a pipeline beats a tree without multicast.
const longMessage = 64 << 10

// For ranks on one host. They share its cores, so the time of a broadcast is the cost of all
// messages and all switches between processes together, not the cost of the longest path. Measured
// on two cores (docs/performance.md, "What the library chooses").
const (
	inWindows = 8<<10 + 1 // bytes: all ranks can read shorter messages in place
	longLocal = 256 << 10 // bytes: from this length on the number of copies matters
	linearTo  = 64        // ranks: the root alone sends to at most so many
)

// For ranks that each have a host, and so a processor, to themselves (docs/notes/selection.md). The
// model chooses without multicast. The rules for multicasts follow measurements.
const (
	spreadTo   = 65      // ranks: from here on connections to all others cost more than they bring
	fewHosts   = 4       // ranks: below this, a tree brings a short message sooner than a multicast
	shortToFew = 4 << 10 // bytes: from here on the root's second copy costs more than a multicast

	// bytes: from here on a chain beside the multicast carries little more than lost chunks
	longOnLinks = 256 << 10
)

// For collectives that move a block for each rank, or for each pair of ranks, in bytes of a block
// (docs/notes/selection.md), where hosts have several ranks or are unknown. These rules follow the
// LogGP model of ranks that each have a host.
const (
	fewRanks   = 8       // ranks: up to here the root's own messages to all take less than a tree
	longBlock  = 8 << 10 // from here on a ring takes at most a tenth more than Bruck's rounds
	longRooted = 4 << 10 // from here on the root's link takes nearly all of the time, with any tree
	bruckBlock = 256     // below this, fewer rounds are worth sending blocks several times
	// from here on links are busy equally long, whether or not all blocks are sent at once
	manyAtATime = 1 << 10
)

// For collectives that fold.
const (
	// bytes of a block of a reduce-scatter: on a host without shared memory, one rank folds shorter ones
	// for all
	shortBlocks = 4<<10 + 1
	longStar    = 512 << 10 // bytes: from here on ranks of a host without shared memory fold a piece each
	// ranks of a host without shared memory: from here on messages matter more than rounds
	crowded = 8
	// bytes of a block of a reduce-scatter: from here on one rank does not fold for all
	longBlocks = 48 << 10
	// bytes: from here on it matters less how many rounds there are than that a rank talks to one
	// other
	longRing = 256 << 10
	longFold = 16 << 10 // bytes: from here on a vector is cut into pieces on links
)

// builtin is never modified.
var builtin = Rules{list: []Rule{
	{Collective: schedule.Barrier, Ranks: Range{To: 3}, Algorithm: "barrier/dissemination",
		Reason: "two ranks tell each other: as many messages as with a tree, and one hop less"},
	{Collective: schedule.Barrier, Place: OneEach, Algorithm: Modelled,
		Reason: "one rank a host: the least time in the model of the network"},
	{Collective: schedule.Barrier, Algorithm: "barrier/hsb", Params: Params{Masters: true},
		Reason: "the fewest messages"},

	{Collective: schedule.Bcast, Memory: With, Bytes: Range{From: inWindows}, Algorithm: Modelled,
		Reason: "shared memory: the least time by what copies cost on this machine"},
	{Collective: schedule.Bcast, Memory: With, Algorithm: "bcast/linear",
		Reason: "all read it where the root has it"},
	{Collective: schedule.Bcast, Place: OneHost, Ranks: Range{To: linearTo + 1}, Algorithm: "bcast/linear",
		Reason: "one host: no rank is woken to pass anything on"},
	{Collective: schedule.Bcast, Place: OneHost, Bytes: Range{From: longLocal}, Algorithm: "bcast/binomial",
		Reason: "one host: the fewest pieces"},

	{Collective: schedule.Bcast, Multicast: With, Place: OneEach, Ranks: Range{To: 3}, Bytes: Range{From: longMessage}, Algorithm: "bcast/chain",
		Reason: "two hosts: a multicast saves no copy"},
	{Collective: schedule.Bcast, Multicast: With, Place: OneEach, Ranks: Range{To: 3}, Algorithm: "bcast/binomial",
		Reason: "two hosts: a multicast saves no copy"},
	{Collective: schedule.Bcast, Multicast: With, Place: OneEach, Ranks: Range{To: fewHosts}, Bytes: Range{To: shortToFew}, Algorithm: "bcast/binomial",
		Reason: "a second copy of a short message takes less time than a multicast"},
	{Collective: schedule.Bcast, Multicast: With, Place: OneEach, Bytes: Range{From: shortToFew, To: longOnLinks}, Algorithm: "bcast/mcast-acktree",
		Reason: "links carry the message once; a chain beside the multicast would carry it again"},
	{Collective: schedule.Bcast, Multicast: With, Algorithm: "bcast/mcast-chain",
		Reason: "without a loss the time does not grow with the ranks; a loss costs a hop"},
	{Collective: schedule.Bcast, Place: OneEach, Algorithm: Modelled,
		Reason: "one rank a host: the least time in the model of the network"},
	{Collective: schedule.Bcast, Bytes: Range{To: longMessage}, Algorithm: "bcast/binomial", Params: Params{Masters: true},
		Reason: "the fewest rounds"},
	{Collective: schedule.Bcast, Algorithm: "bcast/chain", Params: Params{Masters: true},
		Reason: "every link carries the message once, and all at the same time"},
	{Collective: schedule.Anycast, Multicast: With, Place: OneEach, Ranks: Range{From: 3, To: spreadTo}, Algorithm: "anycast/mcast-acktree",
		Reason: "one hop to all ranks, and every link carries the message once"},
	{Collective: schedule.Anycast, Algorithm: "anycast/skip-ring",
		Reason: "two channels a rank on average"},

	{Collective: "scatter", Memory: With, Algorithm: Modelled,
		Reason: "shared memory: the least time by what copies and turns cost on this machine"},
	{Collective: "gather", Memory: With, Algorithm: Modelled,
		Reason: "shared memory: the least time by what copies and turns cost on this machine"},
	{Collective: "allgather", Memory: With, Algorithm: Modelled,
		Reason: "shared memory: the least time by what copies and turns cost on this machine"},
	{Collective: "alltoall", Memory: With, Algorithm: Modelled,
		Reason: "shared memory: the least time by what copies and turns cost on this machine"},

	{Collective: "scatter", Place: OneEach, Algorithm: Modelled,
		Reason: "one rank a host: the least time in the model of the network"},
	{Collective: "scatter", Ranks: Range{To: fewRanks + 1}, Algorithm: "scatter/linear",
		Reason: "few ranks: no block waits for another rank to pass it on"},
	{Collective: "scatter", Bytes: Range{From: longRooted}, Algorithm: "scatter/linear",
		Reason: "the root's link takes the time, and every block travels once"},
	{Collective: "scatter", Algorithm: "scatter/binomial", Params: Params{Masters: true},
		Reason: "the root sends the fewest messages"},
	{Collective: "gather", Place: OneEach, Algorithm: Modelled,
		Reason: "one rank a host: the least time in the model of the network"},
	{Collective: "gather", Ranks: Range{To: fewRanks + 1}, Algorithm: "gather/linear",
		Reason: "few ranks: no block waits for another rank to pass it on"},
	{Collective: "gather", Bytes: Range{From: longRooted}, Algorithm: "gather/linear",
		Reason: "the root's link takes the time, and every block travels once"},
	{Collective: "gather", Algorithm: "gather/binomial", Params: Params{Masters: true},
		Reason: "the root takes in the fewest messages"},
	{Collective: "allgather", Place: OneEach, Algorithm: Modelled,
		Reason: "one rank a host: the least time in the model of the network"},
	{Collective: "allgather", Bytes: Range{From: longBlock}, Algorithm: "allgather/ring", Params: Params{Masters: true},
		Reason: "links take the time, and every rank sends to its neighbour alone"},
	{Collective: "allgather", Algorithm: "allgather/bruck", Params: Params{Masters: true},
		Reason: "the fewest rounds"},
	{Collective: "alltoall", Place: OneEach, Algorithm: Modelled,
		Reason: "one rank a host: the least time in the model of the network"},
	{Collective: "alltoall", Ranks: Range{From: fewRanks}, Bytes: Range{To: bruckBlock}, Algorithm: "alltoall/bruck", Params: Params{Masters: true},
		Reason: "the fewest messages"},
	{Collective: "alltoall", Bytes: Range{To: manyAtATime}, Algorithm: "alltoall/linear",
		Reason: "no rank waits for another one before it sends"},
	{Collective: "alltoall", Algorithm: "alltoall/pairwise",
		Reason: "every block travels once, and every rank sends to one and takes in from one at a time"},

	{Collective: schedule.Allreduce, Memory: With, Algorithm: Modelled,
		Reason: "shared memory: the least time by what copies, folds and turns cost on this machine"},
	{Collective: schedule.Allreduce, Place: OneHost, Ranks: Range{From: 3}, Bytes: Range{To: longStar}, Algorithm: "allreduce/star",
		Reason: "one host: the fewest messages"},
	{Collective: schedule.Allreduce, Place: OneHost, Ranks: Range{From: 3}, Bytes: Range{From: longStar}, Algorithm: "allreduce/halving",
		Reason: "one host: all ranks fold, in few rounds"},
	{Collective: schedule.Allreduce, Place: OneEach, Algorithm: Modelled,
		Reason: "one rank a host: the least time in the model of the network"},
	{Collective: schedule.Allreduce, Bytes: Range{From: longRing}, Ranks: Range{From: 3}, Algorithm: "allreduce/ring", Params: Params{Masters: true},
		Reason: "links take the time, and every rank sends to its neighbour alone"},
	{Collective: schedule.Allreduce, Bytes: Range{From: longFold}, Ranks: Range{From: 3}, Algorithm: "allreduce/circulant", Params: Params{Masters: true},
		Reason: "links take the time: each carries the least, in the fewest rounds"},
	{Collective: schedule.Allreduce, Bytes: Range{From: longFold}, Ranks: Range{From: 3}, Algorithm: "allreduce/halving", Params: Params{Masters: true},
		Reason: "the contributions stay in the order of ranks, and links carry little more than the least"},
	{Collective: schedule.Allreduce, Algorithm: "allreduce/doubling", Params: Params{Masters: true},
		Reason: "the fewest rounds"},
	{Collective: schedule.Reduce, Memory: With, Algorithm: Modelled,
		Reason: "shared memory: the least time by what copies, folds and turns cost on this machine"},
	{Collective: schedule.Reduce, Place: OneHost, Bytes: Range{To: longStar}, Algorithm: "reduce/linear",
		Reason: "one host: no rank is woken to pass anything on"},
	{Collective: schedule.Reduce, Place: OneHost, Algorithm: "reduce/binomial",
		Reason: "one host: few messages, and several ranks fold"},
	{Collective: schedule.Reduce, Place: OneEach, Algorithm: Modelled,
		Reason: "one rank a host: the least time in the model of the network"},
	{Collective: schedule.Reduce, Ranks: Range{To: fewRanks + 1}, Bytes: Range{To: longFold}, Algorithm: "reduce/linear",
		Reason: "few ranks: no contribution waits for another rank to fold it"},
	{Collective: schedule.Reduce, Bytes: Range{From: longFold}, Ranks: Range{From: 3}, Algorithm: "reduce/halving", Params: Params{Masters: true},
		Reason: "links take the time, and all ranks fold a part"},
	{Collective: schedule.Reduce, Algorithm: "reduce/binomial", Params: Params{Masters: true},
		Reason: "the fewest rounds"},
	{Collective: schedule.ReduceScatter, Memory: With, Algorithm: Modelled,
		Reason: "shared memory: the least time by what copies, folds and turns cost on this machine"},
	{Collective: schedule.ReduceScatter, Place: OneHost, Ranks: Range{From: 3}, Bytes: Range{To: shortBlocks}, Algorithm: "reduce-scatter/star",
		Reason: "one host: the fewest messages"},
	{Collective: schedule.ReduceScatter, Place: OneHost, Ranks: Range{From: crowded}, Bytes: Range{To: longBlocks}, Algorithm: "reduce-scatter/star",
		Reason: "one host with many ranks: the fewest messages"},
	{Collective: schedule.ReduceScatter, Place: OneEach, Algorithm: Modelled,
		Reason: "one rank a host: the least time in the model of the network"},
	{Collective: schedule.ReduceScatter, Algorithm: "reduce-scatter/halving", Params: Params{Masters: true},
		Reason: "the fewest rounds, and every link carries about a vector"},
	{Collective: schedule.Scan, Memory: With, Algorithm: Modelled,
		Reason: "shared memory: the least time by what copies, folds and turns cost on this machine"},
	{Collective: schedule.Scan, Place: OneHost, Ranks: Range{From: crowded}, Algorithm: "scan/chain",
		Reason: "one host with many ranks: the fewest messages"},
	{Collective: schedule.Scan, Place: OneEach, Algorithm: Modelled,
		Reason: "one rank a host: the least time in the model of the network"},
	{Collective: schedule.Scan, Algorithm: "scan/doubling", Params: Params{Masters: true},
		Reason: "the fewest rounds"},
	{Collective: schedule.Exscan, Algorithm: "exscan/doubling", Params: Params{Masters: true},
		Reason: "the fewest rounds"},
	{Collective: schedule.Anyreduce, Multicast: With, Place: OneEach, Ranks: Range{From: 3, To: spreadTo}, Algorithm: "anyreduce/mcast-acktree",
		Reason: "the question and the result take one hop each"},
	{Collective: schedule.Anyreduce, Algorithm: "anyreduce/skip-ring",
		Reason: "two channels a rank on average"},
}}

// Builtin returns the rules that decide where no other rule does.
func Builtin() *Rules { return &builtin }
