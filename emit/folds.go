package emit

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/ir/term"
	"github.com/schedgen/schedgen/ir"
)

// fold is a fold of a rank in a run, from the slots that it has at the end of a round.
type fold struct {
	round int // 0: from the beginning
	rank  int
	made  ir.Slot
	of    []ir.Action // the operands
	term  term.Term   // the term of the result
}

// sent yields the messages among actions, without folds.
func sent(do []ir.Action) iter.Seq[[]ir.Action] {
	return func(yield func([]ir.Action) bool) {
		for message := range messages(do) {
			if message[0].Op != ir.Fold && !yield(message) {
				return
			}
		}
	}
}

// sends reports whether actions send anything.
func sends(do []ir.Action) bool {
	return slices.ContainsFunc(do, func(a ir.Action) bool { return a.Op != ir.Fold })
}

// findFolds records the folds of the run, by round, then rank, and the terms of slots.
func (t *run) findFolds() {
	for rank := range t.Programs {
		for i := range t.Programs[rank].Rules {
			at := t.fix.Rule(rank, i)
			if at < 0 {
				continue
			}
			for message := range messages(t.Programs[rank].Rules[i].Do) {
				if message[0].Op == ir.Fold {
					t.folds = append(t.folds, fold{round: at, rank: rank, made: message[0].As, of: message})
				}
			}
		}
	}
	if len(t.folds) == 0 {
		return
	}
	t.terms = term.Of(t.Schedule, t.fix)
	for i := range t.folds {
		f := &t.folds[i]
		f.term = t.terms.Slot(f.rank, f.made)
		t.last = max(t.last, f.round)
	}
	slices.SortStableFunc(t.folds, func(a, b fold) int { return a.round - b.round })
}

// result is a term that ranks have at the end for chunks that they want.
type result struct {
	term   term.Term
	chunks []ir.Slot
	ranks  []int
}

// results returns the results that ranks have at the end. Equal results of several chunks or ranks
// become one. A rank that lacks a chunk has the term 0 for it.
func (t *run) results() []result {
	if !t.Folds() {
		return nil
	}
	type key struct {
		term term.Term
		rank int
	}
	var out []result
	at := make(map[key]int) // the chunks of one rank that have one term
	for rank := range t.Programs {
		wanted := t.Wanted(rank)
		for k := range wanted.All() {
			if t.FoldedRanks(k) == 0 { // the question to the ranks
				continue
			}
			x := term.Term(0)
			if t.terms != nil {
				x = t.terms.Slot(rank, ir.Chunk(k))
			}
			i, ok := at[key{x, rank}]
			if !ok {
				i = len(out)
				at[key{x, rank}] = i
				out = append(out, result{term: x, ranks: []int{rank}})
			}
			out[i].chunks = append(out[i].chunks, ir.Chunk(k))
		}
	}
	return joinRanks(out)
}

// joinRanks merges the results of ranks that have the same terms for the same chunks.
func joinRanks(all []result) []result {
	type key struct {
		term        term.Term
		first, last ir.Slot
		chunks      int
	}
	at := make(map[key]int)
	var out []result
	for _, r := range all {
		k := key{r.term, r.chunks[0], r.chunks[len(r.chunks)-1], len(r.chunks)}
		if i, ok := at[k]; ok && slices.Equal(out[i].chunks, r.chunks) {
			out[i].ranks = append(out[i].ranks, r.ranks...)
			continue
		}
		at[k] = len(out)
		out = append(out, r)
	}
	return out
}

// text spells a term in at most most bytes.
func (t *run) text(x term.Term, most int) string {
	if t.terms == nil {
		return "?"
	}
	return t.terms.Text(x, most)
}

// maxTerm is the number of bytes of a term beside a fold in a picture. Only the title of the fold
// shows longer terms.
const maxTerm = 14

// maxTitle is the number of bytes of a term in the title of a fold.
const maxTitle = 80

// foldTitle describes a fold: "rank 0 folds v1 = x0 v0: (01)".
func foldTitle(t *run, f fold) string {
	var of []string
	for _, a := range f.of {
		of = append(of, a.Slot.String())
	}
	if len(of) > 8 {
		of = append(of[:7:7], fmt.Sprintf("… (%d operands)", len(f.of)))
	}
	return fmt.Sprintf("rank %d folds %v = %s: %s", t.Programs[f.rank].Rank, f.made, strings.Join(of, " "), t.text(f.term, maxTitle))
}

// wordsOf spells the terms of folds in at most most bytes each. Equal terms occur once.
func (t *run) wordsOf(folds []fold, most int) string {
	var words []string
	for _, f := range folds {
		if w := t.text(f.term, most); !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}
