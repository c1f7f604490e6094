package schedule

import "github.com/schedgen/schedgen/ir"

// A rootless allreduce, which paper 001, §4, proposes as an extension of the rootless broadcast.
// Any rank asks at any time, and no rank waits for the question. It goes out along a rootless
// overlay, as a message of [Anycast] does. Every rank answers. The answers are folded on their way
// back to the origin, and the result goes out along the overlay again. Chunk c0 is the question,
// and c1 is the result.
//
// A rank passes the question on before it answers it, since the answer may take long. A rank folds
// its own answer and the answers of its sub-trees in the order of the ring that begins at the
// origin: sub-trees of both overlays are ranks that follow each other on it. So the answers are in
// the order of the ranks if rank 0 asks.

// anyreduce returns the algorithm that asks along an overlay.
func anyreduce[O Overlay](name, paper, summary string, along func(ranks int) O) Algorithm {
	return Algorithm{
		Name:       name,
		Collective: Anyreduce,
		Paper:      paper,
		Summary:    summary,
		Messages:   "3(P-1) puts a question",
		Params:     anycastParams(),
		InPlace:    true,
		write:      func(n *node, a *arena) ir.Program { return writeAnyreduce(n, a, along(n.ranks)) },
		overlay:    func(ranks int) Overlay { return along(ranks) },
	}
}

func writeAnyreduce[O Overlay](n *node, a *arena, o O) ir.Program {
	const question, result = 0, 1
	origin := n.root
	parent := o.Sender(n.rank, origin)

	// A parent numbers its children along the ring, the nearest first. Child i puts what its
	// sub-tree has folded to the parent as v<i>.
	place := 0
	a.to = o.Forward(a.to[:0], parent, origin, o.Sender(parent, origin))
	for _, sibling := range a.to {
		place += count((sibling-parent+n.ranks)%n.ranks < (n.rank-parent+n.ranks)%n.ranks)
	}
	a.to = o.Forward(a.to[:0], n.rank, origin, parent)

	asked := ir.Chunk(question)
	if n.rank == origin {
		asked = ir.Enter
	}
	a.putToAll(asked, ir.Chunk(question))

	from := a.begin()
	a.uses(from, ir.Input(0))
	if n.rank != origin {
		a.wait(asked)
	}
	sums := ir.Value(len(a.to))
	switch {
	case n.rank == origin:
		sums = ir.Chunk(result)
	case len(a.to) == 0:
		a.acts = append(a.acts, ir.PutAs(ir.Input(0), parent, ir.Value(place)))
		sums = ir.None
	}
	if sums != ir.None {
		a.fold(sums, ir.Input(0))
		for i := range a.to {
			a.uses(from, ir.Value(i))
			a.acts = append(a.acts, ir.Action{Op: ir.Fold, Joins: true, Slot: ir.Value(i), As: sums})
		}
	}
	a.end(from)
	if sums.Kind() == ir.KindValue {
		a.putAs(sums, parent, ir.Value(place))
	}
	a.putToAll(ir.Chunk(result), ir.Chunk(result))
	if n.rank == origin {
		return a.foldedProgram(n, result, 1)
	}
	return a.foldedProgram(n, question, 2)
}

// putToAll writes the rule that puts a chunk to all ranks of a.to, once upon is set.
func (a *arena) putToAll(upon, chunk ir.Slot) {
	from := a.begin()
	a.wait(upon)
	for _, to := range a.to {
		a.put(chunk, to)
	}
	a.end(from)
}
