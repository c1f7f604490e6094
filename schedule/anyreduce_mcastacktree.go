package schedule

import (
	"math/bits"

	"github.com/schedgen/schedgen/ir"
)

// anyreduceMcastAckTree is a rootless allreduce whose question and result are multicasts. It joins
// three papers: the multicasts of 000, the rootless question of 001, §4, and the acknowledgements
// and repairs of 002, §3.
//
// The answers climb the binomial tree whose root is the origin. A rank passes on its answer only
// when it has the question and what every child has folded. So what a rank passes on is the
// cumulative acknowledgement of the question for its whole sub-tree. The result is acknowledged by
// signals, as in bcast/mcast-acktree.
//
// Both multicasts have the two repairs of bcast/mcast-acktree. First, a rank that has the chunk and
// misses what child j acknowledges it with puts the chunk to the child after j+1 base timeouts. The
// answers to a question take as long as the processes take. A child that still waits for them has
// the question twice then, which costs one chunk and nothing else. Second, a rank that gets a
// child's acknowledgement but lacks the chunk asks the child for it at once. Children of the origin
// need no rule for that, because the origin has both chunks.
//
// The signals of a rank are the acknowledgements of its children of levels j = 0, 1, …, then the
// requests for the question and for the result if its parent may ask. Child j puts its answers to
// the rank as v<j>.
func anyreduceMcastAckTree() Algorithm {
	return Algorithm{
		Name:       "anyreduce/mcast-acktree",
		Collective: Anyreduce,
		Paper:      "000 §2, 001 §4, 002 §3",
		Summary:    "the question and the result are multicasts; answers, then ACKs, climb the binomial tree of the origin",
		Messages:   "2 mcasts, P-1 puts, P-1 ACKs a question",
		Params:     anycastParams(),
		InPlace:    true,
		acked:      true,
		casts:      true,
		write:      writeAnyreduceMcastAckTree,
		overlay:    func(ranks int) Overlay { return circulantOverlay{ranks} },
	}
}

func writeAnyreduceMcastAckTree(n *node, a *arena) ir.Program {
	question, result := ir.Chunk(0), ir.Chunk(1)
	children := binomialDegree(n.v, n.hosts)
	if n.isRoot() {
		a.mcastUpon(n, ir.Enter, question)
		a.foldAnswers(result, children, ir.Enter)
		a.mcastUpon(n, result, result)
		a.repairBoth(n, children, ir.Enter)
		_, done := a.waitBoth(1, children)
		return a.program(n, children, done)
	}

	parent, level := n.master(binomialParent(n.v)), bits.TrailingZeros(uint(n.v))
	if children == 0 {
		from := a.begin()
		a.uses(from, ir.Input(0))
		a.wait(question)
		a.acts = append(a.acts, ir.PutAs(ir.Input(0), parent, ir.Value(level)))
		a.end(from)
	} else {
		a.foldAnswers(ir.Value(children), children, question)
		a.putAs(ir.Value(children), parent, ir.Value(level))
	}
	acked, done := a.waitBoth(0, children)
	a.put(ir.Signal(level), parent)
	a.rule(acked)
	requests, from := 2*count(asked(n.v)), len(a.slots)
	for k := range requests {
		a.wait(ir.Chunk(k))
		a.wait(ir.Signal(children + k))
	}
	a.answerAsks(n, requests, from)
	a.repairBoth(n, children, question)
	return a.program(n, children+requests, done)
}

// mcastUpon writes the rule that multicasts a chunk once upon is set. A group of one rank has none.
func (a *arena) mcastUpon(n *node, upon, chunk ir.Slot) {
	if n.ranks == 1 {
		return
	}
	from := a.begin()
	a.wait(upon)
	a.acts = append(a.acts, ir.McastOf(chunk))
	a.end(from)
}

// foldAnswers writes the rule that folds a rank's answer and those of its children, once it has been
// asked.
func (a *arena) foldAnswers(sum ir.Slot, children int, asked ir.Slot) {
	from := a.begin()
	a.uses(from, ir.Input(0))
	if asked != ir.Enter {
		a.wait(asked)
	}
	a.fold(sum, ir.Input(0))
	for j := range children {
		a.wait(ir.Value(j))
		a.acts = append(a.acts, ir.Action{Op: ir.Fold, Joins: true, Slot: ir.Value(j), As: sum})
	}
	a.end(from)
}

// waitBoth writes the slots that end a question at a rank: the chunks from first on, and what the
// children acknowledge both with. acked leaves out the answers, because the result comes after them.
func (a *arena) waitBoth(first, children int) (acked, done []ir.Slot) {
	from := len(a.slots)
	a.waitRange(first, 2)
	a.waitSignals(0, children)
	to := len(a.slots)
	for j := range children {
		a.wait(ir.Value(j))
	}
	return a.span(from, to), a.span(from, len(a.slots))
}

// repairBoth writes the repairs of both multicasts for each child, the smallest sub-tree
// first. asked says that the rank has the question.
func (a *arena) repairBoth(n *node, children int, asked ir.Slot) {
	upon := func(s ir.Slot) []ir.Slot {
		a.wait(s)
		return a.span(len(a.slots)-1, len(a.slots))
	}
	for j := range children {
		child := n.v + 1<<j
		for k, acked := range []ir.Slot{ir.Value(j), ir.Signal(j)} {
			have := ir.Chunk(k)
			if k == 0 {
				have = asked
			}
			a.put(ir.Chunk(k), n.master(child))
			a.repair(upon(have), acked, j+1)
			if !n.isRoot() {
				a.put(ir.Signal(binomialDegree(child, n.hosts)+k), n.master(child))
				a.repair(upon(acked), ir.Chunk(k), 0)
			}
		}
	}
}
