package selection

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// openMPICollectives are Open MPI's collectives by their numbers, as its rules name them.
var openMPICollectives = []string{
	"allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier", "bcast", "exscan", "gather", "gatherv",
	"reduce", "reduce_scatter", "reduce_scatter_block", "scan", "scatter", "scatterv",
	"neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw", "reduce_local",
}

// openMPIAlgorithms are those of Open MPI's component tuned by their numbers.
var openMPIAlgorithms = map[string][]string{
	schedule.Barrier: {"ignore", "linear", "double_ring", "recursive_doubling", "bruck", "two_proc", "tree"},
	schedule.Bcast: {
		"ignore", "basic_linear", "chain", "pipeline", "split_binary_tree", "binary_tree", "binomial", "knomial",
		"scatter_allgather", "scatter_allgather_ring",
	},
}

// tunedRule is a rule of Open MPI: in whose cases, and what it says.
type tunedRule struct {
	Rule      // collective, conditions and line
	algorithm string
	fan       int // of chains: how many there are; 0 as 1
	segment   int // bytes; 0: the message is not cut
}

// add maps a rule to ours. A rule that has no equivalent is left to the built-in rules.
func (t *tuned) add(r tunedRule) {
	r.Reason = fmt.Sprintf("Open MPI: %s", r.algorithm)
	if r.algorithm == "two_proc" {
		t.addTwoProc(r.Rule)
		return
	}
	if alg, params, ok := r.equivalent(); ok {
		r.Algorithm, r.Params = alg, params
		t.list = append(t.list, r.Rule)
		return
	}
	r.Algorithm = BuiltIn
	t.list = append(t.list, r.Rule)
	if r.algorithm == "ignore" {
		t.notef(r.Line, "%s ignore: Open MPI's fixed rules decide there, the built-in ones here", r.Collective)
		return
	}
	words := r.algorithm
	if r.algorithm == "chain" {
		words = fmt.Sprintf("%d chains", r.fan)
	}
	t.notef(r.Line, "%s %s: schedgen has no such algorithm, the built-in rules decide", r.Collective, words)
}

// equivalent returns the algorithm of ours that sends the same messages between the same ranks.
func (r *tunedRule) equivalent() (name string, p Params, ok bool) {
	if r.Collective == schedule.Bcast {
		p = Params{Chunk: r.segment}
		if r.segment == 0 {
			p.Chunks = 1
		}
	}
	switch r.Collective + " " + r.algorithm {
	case "bcast basic_linear":
		return "bcast/linear", Params{Chunks: 1}, true
	case "bcast chain":
		return "bcast/chain", p, r.fan <= 1
	case "bcast pipeline":
		return "bcast/chain", p, true
	case "bcast binomial":
		return "bcast/binomial-doubling", p, true
	case "barrier linear":
		return "barrier/hsb", Params{FanIn: schedule.MaxFan, FanOut: schedule.MaxFan}, true
	case "barrier recursive_doubling":
		return "barrier/exchange", Params{Degree: 2}, true
	case "barrier bruck":
		return "barrier/dissemination", Params{Degree: 2}, true
	}
	return "", Params{}, false
}

// addTwoProc maps the barrier of two ranks, which Open MPI refuses to others.
func (t *tuned) addTwoProc(r Rule) {
	pair := r
	pair.Algorithm = "barrier/dissemination"
	if r.Ranks.To != 3 && r.Ranks.has(2) {
		pair.Ranks = Range{2, 3}
	}
	if r.Ranks.has(2) {
		t.list = append(t.list, pair)
	}
	if r.Ranks.To == 3 {
		return
	}
	r.Algorithm = BuiltIn
	t.list = append(t.list, r)
	t.notef(r.Line, "barrier two_proc: is for 2 ranks, the built-in rules decide for others")
}

// openMPIAlgorithm returns an algorithm by its number, "" for one of another version of
// Open MPI.
func openMPIAlgorithm(collective string, id int) string {
	if all := openMPIAlgorithms[collective]; id < len(all) {
		return all[id]
	}
	return ""
}

// leftOut says why no rule of a collective is translated. The sizes of Open MPI's rules for those of
// many blocks are of all blocks together, so that no range of ours means the same for several numbers
// of ranks.
func leftOut(collective string) string {
	if _, ok := ir.CollectiveNamed(collective); ok {
		return collective + ": its sizes count all blocks together, ours one block, so its rules are left out"
	}
	return collective + ": schedgen has no such collective, its rules are left out"
}

// ours reports whether we have a collective of Open MPI.
func ours(collective string) bool {
	_, ok := openMPIAlgorithms[collective]
	return ok
}
