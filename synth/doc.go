// Package synth makes schedules that move large messages as fast as a given network allows. It
// computes the bound that the network sets, packs spanning trees that reach it, and writes a schedule
// that sends along these trees.
//
//	n, err := network.Parse(r)
//	b, err := synth.BoundOf(n, synth.Allgather) // a block of n bits needs b.Blocks·n/b.Rate seconds
//	p, err := synth.Plan(n, synth.Options{Collective: synth.Allgather})
//	s := p.Schedule()
//
// # The bound
//
// Every rank wants the blocks of all roots: of all ranks in an allgather, of one in a broadcast. If
// S is a set of nodes that leaves out a rank, then all blocks of roots in S must leave S. So a block
// of n bits takes at least n·w(S)/B(S) seconds, where w(S) counts the roots in S and B(S) is the
// rate at which data can leave S. The largest ratio is the bound, and trees reach it (ForestColl,
// arXiv 2402.06787). Newton's method finds it: each step decides by maximum flows whether a ratio is
// large enough, and a minimum cut shows a larger one if it is not.
//
// # Trees
//
// The bound is p/q. The least number of trees a block which reaches it is k = q/g, where g divides q
// and all rates; an arc then carries rate·p/g trees. Fewer trees, of at most 8, are taken if they
// come within 5 % of the bound.
//
// Switches are removed one after the other by splitting off (Mader; Bang-Jensen, Frank and Jackson,
// SIAM J. Discrete Math. 8, 1995): what crosses u→w and then w→x becomes an arc u→x, as long as every
// rank still gets all trees. One flow a rank shows that it does. It is kept, and repaired after each
// step. The trees are packed in the same way (Edmonds; Tarjan; Bérczi and Frank, 2010): an arc is
// taken for as many equal trees as leave enough for all others.
//
// Trees of a reduction are those of the network with all arcs turned.
//
// # Rules
//
// [Rules] registers schedules for a network as algorithms, simulates them and the algorithms that
// other rules choose on the network, and makes rules for the collectives and lengths for which they
// are much faster. A communicator whose Config has a Network does the same, in a program that imports
// this package, if only for that:
//
//	import _ "github.com/schedgen/schedgen/synth"
package synth
