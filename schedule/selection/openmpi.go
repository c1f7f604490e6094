package selection

import (
	"fmt"
	"math/bits"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// openMPICollectives are Open MPI's collectives, indexed by the numbers in its rules.
var openMPICollectives = []string{
	"allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier", "bcast", "exscan", "gather", "gatherv",
	"reduce", "reduce_scatter", "reduce_scatter_block", "scan", "scatter", "scatterv",
	"neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw", "reduce_local",
}

// openMPIAlgorithms returns the algorithms of Open MPI's component tuned, indexed by their numbers.
func openMPIAlgorithms() map[string][]string {
	return map[string][]string{
		schedule.Barrier: {"ignore", "linear", "double_ring", "recursive_doubling", "bruck", "two_proc", "tree"},
		schedule.Bcast: {
			"ignore", "basic_linear", "chain", "pipeline", "split_binary_tree", "binary_tree", "binomial", "knomial",
			"scatter_allgather", "scatter_allgather_ring",
		},
		schedule.Allgather: {"ignore", "linear", "bruck", "recursive_doubling", "ring", "neighbor", "two_proc", "sparbit"},
		schedule.Alltoall:  {"ignore", "linear", "pairwise", "modified_bruck", "linear_sync", "two_proc"},
		schedule.Gather:    {"ignore", "basic_linear", "binomial", "linear_sync"},
		schedule.Scatter:   {"ignore", "basic_linear", "binomial", "linear_nb"},
	}
}

// equal is an algorithm of schedgen that sends the same messages between the same ranks as one of
// Open MPI's.
type equal struct {
	name     string
	params   Params
	segments bool                    // segments of a message become chunks
	pair     bool                    // Open MPI refuses it unless there are 2 ranks
	only     func(*tunedRule) bool   // whether it is equal to the algorithm of the rule; nil: always
	words    func(*tunedRule) string // describes an algorithm without equal; nil: its name alone
}

// whole sends each message or block in one piece.
var whole = Params{Chunks: 1}

// equals returns a map of algorithms of Open MPI to equal algorithms of schedgen. Missing ones have no equal.
func equals() map[string]map[string]equal {
	return map[string]map[string]equal{
		schedule.Bcast: {
			"basic_linear": {name: "bcast/linear", params: whole},
			"chain": {
				name: "bcast/chain", segments: true,
				only:  func(r *tunedRule) bool { return r.fan <= 1 },
				words: func(r *tunedRule) string { return fmt.Sprintf("%d chains", r.fan) },
			},
			"pipeline": {name: "bcast/chain", segments: true},
			"binomial": {name: "bcast/binomial-doubling", segments: true},
		},
		schedule.Barrier: {
			"linear":             {name: "barrier/hsb", params: Params{FanIn: schedule.MaxFan, FanOut: schedule.MaxFan}},
			"recursive_doubling": {name: "barrier/exchange", params: Params{Degree: 2}},
			"bruck":              {name: "barrier/dissemination", params: Params{Degree: 2}},
			"two_proc":           {name: "barrier/dissemination", pair: true},
		},
		schedule.Allgather: {
			"bruck":    {name: "allgather/bruck", params: whole},
			"ring":     {name: "allgather/ring", params: whole},
			"two_proc": {name: "allgather/bruck", params: whole, pair: true},
		},
		schedule.Alltoall: {
			"linear":         {name: "alltoall/linear", params: whole},
			"pairwise":       {name: "alltoall/pairwise", params: whole},
			"modified_bruck": {name: "alltoall/bruck", params: whole},
			"linear_sync": {
				name: "alltoall/linear", params: whole,
				only:  func(r *tunedRule) bool { return r.requests == 0 },
				words: func(r *tunedRule) string { return fmt.Sprintf("linear_sync with %d requests", r.requests) },
			},
			"two_proc": {name: "alltoall/pairwise", params: whole, pair: true},
		},
		schedule.Gather: {
			"basic_linear": {name: "gather/linear", params: whole},
			"binomial":     {name: "gather/binomial", params: whole},
		},
		schedule.Scatter: {
			"basic_linear": {name: "scatter/linear", params: whole},
			"binomial":     {name: "scatter/binomial", params: whole},
			"linear_nb":    {name: "scatter/linear", params: whole},
		},
	}
}

// tunedRule is a rule of Open MPI.
type tunedRule struct {
	Rule      // collective, conditions and line; Bytes counts all blocks of a rank together
	algorithm string
	fan       int // the number of chains; 0 means 1
	segment   int // bytes of a segment; 0: the message is not cut
	requests  int // messages of a rank that may be under way at once; 0: no limit
}

// addRule translates a rule. It leaves a rule without equal to the built-in rules.
func (t *tuned) addRule(r tunedRule) {
	r.Reason = fmt.Sprintf("Open MPI: %s", r.algorithm)
	e, ok := equals()[r.Collective][r.algorithm]
	switch {
	case ok && e.pair:
		t.addPair(r.Rule, &e)
	case ok && (e.only == nil || e.only(&r)):
		r.Algorithm, r.Params = e.name, e.params
		switch {
		case e.segments && r.segment == 0:
			r.Params = whole
		case e.segments:
			r.Params = Params{Chunk: r.segment}
		}
		t.addBlocks(r.Rule)
	default:
		r.Algorithm = BuiltIn
		t.addBlocks(r.Rule)
		words := r.algorithm
		if ok {
			words = e.words(&r)
		}
		if r.algorithm == "ignore" {
			t.notef(r.Line, "%s ignore: Open MPI's fixed rules decide there, the built-in ones here", r.Collective)
			return
		}
		t.notef(r.Line, "%s %s: schedgen has no such algorithm, the built-in rules decide", r.Collective, words)
	}
}

// addPair translates a rule for an algorithm of two ranks, which Open MPI refuses for other
// numbers.
func (t *tuned) addPair(r Rule, e *equal) {
	pair := r
	pair.Algorithm, pair.Params = e.name, e.params
	if r.Ranks.To != 3 && r.Ranks.has(2) {
		pair.Ranks = Range{2, 3}
	}
	if r.Ranks.has(2) {
		t.addBlocks(pair)
	}
	if r.Ranks.To == 3 {
		return
	}
	r.Algorithm = BuiltIn
	t.addBlocks(r)
	t.notef(r.Line, "%s two_proc: is for 2 ranks, the built-in rules decide for others", r.Collective)
}

// addBlocks adds a rule whose sizes may count several blocks together. A range of bytes of all
// blocks is a different range of bytes of one block for each number of ranks. So addBlocks cuts the
// ranks into ranges whose last number is less than twice the first, with sizes that are right for
// the first.
func (t *tuned) addBlocks(r Rule) {
	row, _ := ir.CollectiveNamed(r.Collective)
	if r.Bytes == (Range{}) || blocksAt(&row, 2) < 2 {
		t.list = append(t.list, r)
		return
	}
	t.rounded(&r)
	added, end := false, r.Ranks.To
	if end == 0 {
		end = schedule.MaxRanks + 1
	}
	for first, next := max(1, r.Ranks.From), 0; first < end && len(t.list) <= maxRules; first = next {
		next = min(end, 1<<bits.Len(uint(first)))
		blocks, piece := blocksAt(&row, first), r
		piece.Bytes = Range{ceil(r.Bytes.From, blocks), ceil(r.Bytes.To, blocks)}
		if r.Bytes.To > 0 && piece.Bytes.From >= piece.Bytes.To {
			continue // no block has such a length
		}
		if piece.Ranks = (Range{first, next}); next > schedule.MaxRanks {
			piece.Ranks.To = 0
		}
		t.list = append(t.list, piece)
		added = true
	}
	if !added {
		t.notef(r.Line, "left out: no block of whole bytes has its sizes")
	}
}

// rounded adds a note, once for each collective, that sizes are right only for some numbers of
// ranks.
func (t *tuned) rounded(r *Rule) {
	if t.halved == nil {
		t.halved = make(map[string]bool)
	}
	if t.halved[r.Collective] {
		return
	}
	t.halved[r.Collective] = true
	t.notef(r.Line, "%s: its sizes count all blocks together, ours one block; they are divided by the least number of ranks of each rule", r.Collective)
}

// blocksAt returns how many blocks Open MPI counts in a size among the given number of ranks: the
// blocks of the rank that has the most.
func blocksAt(row *ir.Collective, ranks int) int {
	if !hasSizes(row) {
		return 0
	}
	return max(row.Held(ranks, 0, 0).Count, row.Wanted(ranks, 0, 0).Count)
}

func ceil(n, by int) int {
	if n == 0 {
		return 0
	}
	return (n-1)/by + 1
}

// openMPIAlgorithm returns the name of an algorithm by its number, or "" for one of another version
// of Open MPI.
func openMPIAlgorithm(collective string, id int) string {
	if all := openMPIAlgorithms()[collective]; id < len(all) {
		return all[id]
	}
	return ""
}

// ours reports whether schedgen has a collective of Open MPI.
func ours(collective string) bool {
	_, ok := openMPIAlgorithms()[collective]
	return ok
}

// leftOut returns the note that no rule of a collective is translated.
func leftOut(collective string) string {
	return collective + ": schedgen has no such collective, its rules are left out"
}
