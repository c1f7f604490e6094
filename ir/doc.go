// Package ir is the intermediate representation of schedules: single-assignment slots and triggered
// puts.
//
// A [Schedule] holds one [Program] for every rank. A program is a set of rules of the form "when
// all these slots are set, do these actions". A slot, once set, stays set, and a rule fires once.
// So a schedule is monotone: the same slots end up set in whatever order the network delivers. A
// single fixpoint therefore covers every interleaving, and package verify proves schedules with it.
//
// Package ir imports no other package of the module.
//
// # Exchange forms
//
// The package reads and writes two forms of the same content. The JSON form is for other programs
// ([WriteJSON], [ParseJSON]). The text form is for people, diffs and goldens ([WriteText],
// [ParseText]). WriteText spells each schedule in exactly one way:
//
//	text    = header { program } .
//	header  = "schedule " NAME "/" NAME " ranks=" N [ " root=" N ] [ " chunks=" N [ " recovery" ] ] { " " NAME "=" N } "\n" .
//	program = "rank " N [ " signals=" N ] [ " values=" N ] "\n" { "  " rule "\n" } "  done" { " " slot } "\n" [ ask ] [ report ] [ twice ] .
//	rule    = slot " " { slot " " } [ "unless " slot " after " N " " ] "-> " action { ", " action } .
//	action  = put | "mcast " slot | "fold " slot " =" " " slot { " " slot } .
//	put     = "put " { slot " " } place [ " as" " " slot { " " slot } ] .
//	place   = slot " @" N .
//	slot    = "enter" | "c" N | "s" N | "v" N | "x" N .
//	ask     = "  ask" { " " N } "\n" .
//	report  = "  report" [ " " N ] [ " from" { " " N } ] "\n" .
//	twice   = "  twice " place { ", " place } "\n" .
//
// N is a decimal number without leading zeros. A NAME starts with a lower-case letter and continues
// with lower-case letters, digits and hyphens.
//
//   - Parameters are sorted by name, and programs by rank.
//   - A root is named only for a collective that has one ([Collective]).
//   - A barrier has chunks only if it multicasts, and it has no recovery.
//   - A put of several slots is one message. "as" gives the name of each of them at the
//     destination.
//   - A rank's numbers of signals and partial results are named only where they are larger than the
//     rules and the puts to the rank show.
//   - ask, report and twice are the program's [Recovery]: the ranks it asks, the rank it reports to
//     and the ranks that report to it, and the puts of signals that it sends twice. They occur only
//     if the first line says recovery.
//
// ParseText also accepts two things in texts that people write. A line may end in blanks and a
// comment, which starts with # and ends with the line. Lines of blanks or of a comment alone may
// stand anywhere. ParseText drops comments, so WriteText does not write them again.
//
// The readers refuse input that is not a schedule: bad syntax, and counts, ranks and slots out of
// range. They accept a schedule that does the wrong thing, such as a barrier that releases ranks
// early.
//
// # JSON
//
// A rank in JSON, with recovery, which the header announces:
//
//	{"rank":4,"signals":2,"rules":[
//	 {"when":["c0","s0","s1"],"do":[{"op":"put","slot":"s2","to":0}]}],"done":["c0","s0","s1"],
//	 "ask":[1,0],"report":{"to":0,"from":[5,6]},"twice":[{"op":"put","slot":"s2","to":0}]}
//
// A message of several slots, which take other names at the destination, and a fold:
//
//	{"op":"put","slots":["x3","x4"],"to":3,"as":["v0","v1"]}
//	{"op":"fold","slot":"v1","of":["x0","v0"]}
//
// The fields ask, report, twice and as are left out where they are empty. [WriteJSON] writes the
// first form that can express a schedule:
//
//	schedgen/1   broadcasts, anycasts, and barriers without chunks, all without recovery
//	schedgen/2   broadcasts and anycasts with recovery
//	schedgen/3   barriers that multicast: "chunks" is a number of chunks without bytes
//	schedgen/4   all other collectives, messages of several slots, and folds; in the header
//	             "recovery", and "root":0 for a collective without a root; "values", a rank's number
//	             of partial results
//
// # Blocks
//
// A collective moves blocks among P ranks ([Collective]):
//
//	                      blocks  held at enter             wanted at the end
//	bcast, anycast        1       the root, or origin: all  all ranks: all
//	scatter               P       the root: all             rank r: block r
//	gather                P       rank r: block r           the root: all
//	allgather             P       rank r: block r           all ranks: all
//	alltoall              P²      rank s: s·P … s·P+P-1     rank d: s·P+d for all s
//	reduce, allreduce     1       nothing                   the root; all ranks: all
//	reduce-scatter        P       nothing                   rank r: block r
//	scan, exscan          P       nothing                   rank r: block r, folded up to r; before r,
//	                                                        and rank 0 wants nothing
//	anyreduce             2       the origin: block 0, the  all ranks: both; block 1 is the folded
//	                              question                  answers
//	barrier               none
//
// A block has F chunks: block b is the chunks b·F … b·F+F-1, and chunks= counts all. Done lists the
// wanted chunks that the rank does not hold, ascending, and then what else the rank waits for.
//
// # Folds
//
// Slot x<k> is part k of a rank's contribution. A rule that uses it waits for enter, and in an
// anyreduce also for every chunk of the question. Slot v<i> is a partial result, numbered by its
// rank. It has one writer. "fold D = A B …" makes D, a v or a c, of ((A·B)·C)…, from left to right,
// or copies A if there is no B. It takes no round. A rule does not use what it folds itself: another
// rule, which waits for D, puts D or folds it further. Package verify refuses anything else. Chunk k
// is folded from x<k> in a reduce-scatter, and chunk f of a block from x<f> in other collectives. x
// and v are never multicast, asked for or repaired.
package ir
