// Package schedule computes what every rank has to do in a collective operation: broadcasts,
// barriers, rootless operations, collectives that move blocks, and collectives that fold the
// contributions of ranks.
//
// [New] checks the parameters of an algorithm and returns a [Spec]. [Spec.Program] returns the
// program of one rank. A rank computes its own program alone, in time and memory in proportion to
// that program, never to the number of ranks. [Spec.Schedule] returns the programs of all ranks,
// the form that other packages verify and print.
//
// Package schedule imports ir, schedule/build and verify. Package schedule/selection chooses among
// its algorithms.
//
// # Numbering
//
// Algorithms are written in virtual ranks: the root is 0, and the others follow it in the order of
// the ranks, modulo their number. With Params.Hosts the ranks are divided into contiguous blocks,
// one a host. The algorithm then runs among one master of each block, and virtual ranks number the
// hosts. Without Params.Hosts every rank is its own host.
//
// A rank numbers the signals of its slaves first, then the signals of the algorithm.
//
// Schedules that fold are not rotated by the root, and the master of a host is its first rank. So
// contributions stay in the order of the ranks. A rank numbers the contributions of its slaves
// first, then the results of its host's folds, then the partial results of the algorithm.
//
// # Trees
//
// [Algorithm].RankOrder and [Spec.RankOrder] say that contributions are folded in the order of the
// ranks, so the schedule serves operations that do not commute. [Algorithm].Tree and [Spec.Tree]
// name the tree that the schedule folds. Schedules with the same number of ranks and the same tree
// give the same bits. So a program may choose among them by the length of a vector.
//
// # Rounds
//
// The comments on algorithms count the rounds of the algorithm, as the papers do. The command
// schedgen cost counts the messages that depend on each other: a rank may send any number of
// messages at once. So it reports fewer rounds if a round sends nothing that the round before it
// has brought.
//
// # Order
//
// The puts of a rule leave one behind the other, so their order decides when the last rank is done.
// Algorithms choose the order by the LogGP model (package internal/model/loggp), with the
// parameters of the simulator LogGOPSim and messages of 1 byte and 64 KiB. The put with the longest
// way to go after it goes first. testdata/orders.txt compares each choice with others over many
// numbers of ranks. Most of them are not powers of two. Its mean, least and most are ratios of the
// other order's time to the chosen one's.
//
// On hosts a master serves other hosts before its slaves, because slaves pass nothing on. The root
// of a linear broadcast or of a binomial tree first sends all chunks to other hosts. Chunk by chunk
// takes 1 to 2 % longer on average and up to 22 %.
//
// # Adding an algorithm
//
// An algorithm is one file with a function that returns its [Algorithm], one line in the list in
// registry.go, and one test file that calls the conformance suite. Its size function counts rules,
// slots and actions. Its fill function writes them into an arena of exactly that size. An algorithm
// that folds has a write function instead of both. It runs once to count and once to write.
package schedule
