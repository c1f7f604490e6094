package schedule

import (
	"slices"
	"sync"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule/build"
	"github.com/schedgen/schedgen/verify"
)

// The collectives: names of rows of [ir.Collectives].
const (
	Bcast         = "bcast"
	Anycast       = "anycast"
	Barrier       = "barrier"
	Scatter       = "scatter"
	Gather        = "gather"
	Allgather     = "allgather"
	Alltoall      = "alltoall"
	Reduce        = "reduce"
	Allreduce     = "allreduce"
	ReduceScatter = "reduce-scatter"
	Scan          = "scan"
	Exscan        = "exscan"
	Anyreduce     = "anyreduce"
)

// Algorithm describes one algorithm and how to compute its programs.
type Algorithm struct {
	Name       string   // full name, such as "bcast/mcast-chain", as New takes it
	Collective string   // the name of a row of ir.Collectives, such as Bcast
	Paper      string   // labels, as in Papers, and sections of the papers it comes from; "ours" if none
	Summary    string   // one line
	Messages   string   // number of messages of P ranks and F chunks a block, flat
	Params     []string // the parameters it takes besides ranks, spelled as on the command line
	// RankOrder says that the algorithm folds in the order of the ranks for all parameters, so it
	// serves operations that do not commute; see [Spec.RankOrder].
	RankOrder bool
	// Tree names the tree by which the algorithm folds every part of the vector without hosts. It
	// is "" if no other algorithm folds that tree; see [Spec.Tree].
	Tree string

	// InPlace says that in an algorithm that folds, a rank may write its result over its
	// contribution, for all parameters.
	InPlace bool

	// acked says that the root returns only when every rank has the message. Slaves acknowledge it
	// to their master, and their recovery follows the acknowledgements.
	acked    bool
	recovers bool // it multicasts, and its programs say how to recover lost multicasts
	casts    bool // it multicasts, and its rules alone make up for lost multicasts
	relays   bool // ranks pass on blocks that they neither hold nor want, even without hosts
	tells    bool // it is a barrier that multicasts: it has one chunk without bytes
	// otherwise names the algorithm for the same calls if many ranks lose the multicast; "": this one.
	otherwise string
	chunks    func(group int) int // default number of chunks a block; nil: 1
	degree    int                 // default degree; 0: as for barriers
	// ordered says whether the algorithm folds in the order of the ranks. If it is nil, RankOrder
	// says so.
	ordered func(group, degree int) bool
	size    func(node) size
	fill    func(node, arena) ir.Program
	slaves  slaves // for an algorithm that takes hosts
	// write writes the program of any rank, in place of size, fill and slaves.
	write   func(*node, *arena) ir.Program
	overlay func(ranks int) Overlay // nil unless rootless

	// build writes the schedule of all ranks, in place of all functions above: see [Register].
	build func(*build.Builder)
	makes func(*Spec) (*ir.Schedule, error) // calls build; only Register sets it, so that other programs do not link package build
	// prove proves a schedule before its first use; nil: our tests have proved it. Only Register sets
	// it, so that programs without algorithms of their own do not link package verify.
	prove    func(*ir.Schedule) (verify.Terms, error)
	unlisted bool // see Definition.Unlisted
}

// slaves is the program of the ranks of a host that are not its master. size counts what fill
// writes.
type slaves struct {
	size func(node) size
	fill func(node, arena) ir.Program
}

// Algorithms returns the built-in algorithms in the order of documents and lists, and then those of
// [Register]. It leaves out unlisted ones. The list is a copy, but its elements share their slices.
func Algorithms() []Algorithm {
	return slices.DeleteFunc(slices.Clone(registry()), func(a Algorithm) bool { return a.unlisted })
}

// Broadcasts returns the algorithms of a communicator that only broadcasts. A chain comes first and
// is the default. The second broadcast is by acknowledged multicasts. The others are what every
// communicator needs: a barrier, and trees for rootless messages and for questions.
func Broadcasts() []Algorithm {
	return []Algorithm{chain(), mcastAckTree(), dissemination(), skipRingAlgorithm(), anyreduceSkipRing()}
}

// registry returns the list, which callers must not change.
func registry() []Algorithm {
	if all := registered.Load(); all != nil {
		return *all
	}
	return builtIn()
}

// ours is the list of builtIn. It is not the result of a sync.OnceValue, whose initialization would
// put all algorithms into every program.
var ours struct {
	once sync.Once
	list []Algorithm
}

// builtIn returns the list without the algorithms of Register. It makes the list once.
func builtIn() []Algorithm {
	ours.once.Do(func() { ours.list = makeBuiltIn() })
	return ours.list
}

func makeBuiltIn() []Algorithm {
	return []Algorithm{
		linear(),
		binomial(),
		binomialDoubling(),
		chain(),
		mcastChain(),
		mcastBinomial(),
		mcastAckTree(),
		symmetric(),
		scatterAllgather(),
		bcastTwoTree(),
		skipRingAlgorithm(),
		circulant(),
		anycastMcastAckTree(),
		hsb(),
		hsbMcast(),
		exchange(),
		dissemination(),
		scatterLinear(),
		scatterBinomial(),
		gatherLinear(),
		gatherBinomial(),
		allgatherLinear(),
		allgatherRing(),
		allgatherNeighbor(),
		allgatherBruck(),
		allgatherDoubling(),
		allgatherMcast(),
		alltoallLinear(),
		alltoallPairwise(),
		alltoallBruck(),
		reduceLinear(),
		reduceBinomial(),
		reduceChain(),
		reduceHalving(),
		reduceTwoTree(),
		allreduceLinear(),
		allreduceDoubling(),
		allreduceHalving(),
		allreduceStar(),
		allreduceTwoShot(),
		allreduceRing(),
		allreduceMultiplying(),
		allreduceCirculant(),
		allreduceTwoTree(),
		allreduceMcastAckTree(),
		reduceScatterLinear(),
		reduceScatterStar(),
		reduceScatterPairwise(),
		reduceScatterCirculant(),
		reduceScatterHalving(),
		scanChain(),
		scanDoubling(),
		exscanDoubling(),
		exscanSkip123(),
		anyreduceSkipRing(),
		anyreduceCirculant(),
		anyreduceMcastAckTree(),
	}
}

// TreeOfDoubling is the tree of allreduce/doubling (see [Algorithm].Tree). Algorithms that fold it
// give the same bits for every operation.
const TreeOfDoubling = "doubling"

// The trees of the prefixes of scan/doubling and exscan/doubling.
const (
	treeOfScan   = "scan doubling"
	treeOfExscan = "exscan doubling"
)

// Multicasts reports whether there is an algorithm with this name that multicasts.
func Multicasts(name string) bool {
	all := registry()
	i := slices.IndexFunc(all, func(a Algorithm) bool { return a.Name == name })
	return i >= 0 && all[i].Multicasts()
}

// Acknowledged reports whether the algorithm of that name returns at its root only after all ranks
// have acknowledged the message. It is false for an unknown name.
func Acknowledged(name string) bool {
	all := registry()
	i := slices.IndexFunc(all, func(a Algorithm) bool { return a.Name == name })
	return i >= 0 && all[i].Acknowledged()
}

// AlgorithmsOf returns the algorithms of a collective, in the order of [Algorithms].
func AlgorithmsOf(collective string) []Algorithm {
	return slices.DeleteFunc(Algorithms(), func(a Algorithm) bool { return a.Collective != collective })
}

// Named returns the algorithm with this full name, such as "bcast/chain". ok is false if there is
// none.
func Named(name string) (a Algorithm, ok bool) {
	all := registry()
	i := slices.IndexFunc(all, func(a Algorithm) bool { return a.Name == name })
	if i < 0 {
		return Algorithm{}, false
	}
	return all[i], true
}

// DefaultChunks returns the default number of chunks of a block among group ranks or hosts.
func (a *Algorithm) DefaultChunks(group int) int {
	if a.chunks == nil {
		return 1
	}
	return a.chunks(group)
}

// Row returns the row of the algorithm's collective.
func (a *Algorithm) Row() ir.Collective {
	row, _ := ir.CollectiveNamed(a.Collective)
	return row
}

// CutsItself reports whether the algorithm has a default number of chunks of its own, which depends
// on the number of ranks and not on the message's size.
func (a *Algorithm) CutsItself() bool { return a.chunks != nil }

// Multicasts reports whether the algorithm multicasts. On a network without multicast, its repairs
// or its second stage would have to bring every chunk.
func (a *Algorithm) Multicasts() bool { return a.recovers || a.casts || a.tells }

// Acknowledged reports whether the root returns only when every rank has the message.
func (a *Algorithm) Acknowledged() bool { return a.acked }

// Otherwise returns the algorithm that takes less time if multicasts of short messages miss more than a
// share of the ranks, or "" (paper 000, section 5). The two differ only in how they bring a message to
// ranks that have lost the multicast.
func (a *Algorithm) Otherwise() (name string, lost float64) { return a.otherwise, treedFrom }

// Uncut reports whether every block is one chunk, whatever its length.
func (a *Algorithm) Uncut() bool { return a.fixed("chunks") }

// fixed reports whether the algorithm has the parameter but leaves no choice. A rootless message
// and the multicast of a barrier are always one chunk, and so is a block of a registered algorithm
// that does not take the parameter.
func (a *Algorithm) fixed(param string) bool {
	return param == "chunks" && (a.overlay != nil || a.tells || a.build != nil && a.Row().Blocks != nil && !slices.Contains(a.Params, param))
}

// The parameters that the algorithms of a collective have in common.
func bcastParams() []string    { return []string{"root", "chunks", "hosts"} }
func anycastParams() []string  { return []string{"origin"} }
func naryParams() []string     { return []string{"degree", "hosts"} }
func rootedParams() []string   { return bcastParams() }
func unrootedParams() []string { return []string{"chunks", "hosts"} }
