// Package schedule computes what every rank has to do in a collective
// operation: broadcasts, barriers, rootless notification, collectives of a block a
// rank, and those that fold the contributions of ranks.
//
// [New] checks the parameters of an algorithm and returns a [Spec];
// [Spec.Program] is the program of one rank. A rank computes its own program
// alone, in time and memory in proportion to that program and never to the
// number of ranks. [Spec.Schedule] is the programs of all ranks, the form
// that is verified and printed.
//
// # Numbering
//
// Algorithms are written in virtual ranks: the root is 0 and the others follow
// it in the order of the ranks, modulo their number. With Params.Hosts the
// ranks fall into contiguous blocks, one a host; the algorithm then runs among
// one master of each block, and virtual ranks number the hosts. Without it
// every rank is its own host.
//
// The signals of a rank are numbered so that those of its slaves come first,
// then those of the algorithm.
//
// Schedules that fold are not rotated by the root, and the master of a host is its first rank: so
// contributions stay in the order of the ranks. A rank's partial results are numbered so that those of its
// slaves come first, then those that its host folds, then those of the algorithm.
//
// # Trees
//
// [Algorithm].RankOrder and [Spec.RankOrder] say that contributions are folded in the order of the
// ranks: the schedule then serves operations that do not commute. [Algorithm].Tree and [Spec.Tree]
// name the tree that is folded. Schedules among as many ranks that have the same one give the same
// bits, so a program may choose among them by the length of a vector.
//
// # Order
//
// The puts of a rule leave one behind the other, so their order decides when the
// last rank is done. Algorithms choose it by the LogGP model (package sim/loggp), with
// the parameters of the simulator LogGOPSim and messages of 1 byte and 64 KiB: what
// has the longest way to go after a put goes first. testdata/orders.txt compares each
// choice with others over many numbers of ranks, most of them no powers of two; its
// mean, least and most are ratios of the other order's time to the chosen one's.
//
// On hosts a master serves other hosts before its slaves, since slaves pass nothing
// on. The root of a linear broadcast or of a binomial tree sends other hosts all chunks
// first: chunk by chunk takes 1 to 2 % longer on average and up to 22 %.
//
// # Adding an algorithm
//
// An algorithm is one file with a function that returns its [Algorithm]: a
// size function that counts rules, slots and actions, and a fill function that
// writes them into an arena of exactly that size; one line in [Algorithms]; and
// one test file that calls the conformance suite. In place of both functions, one that folds has a
// write function, which runs once to count and once to write.
package schedule
