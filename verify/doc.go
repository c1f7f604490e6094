// Package verify proves properties of schedules, or refutes them with a counterexample that a
// person can follow.
//
// A slot, once set, stays set. So one least fixpoint covers every order in which the network may
// deliver and every subset of lost multicasts. The checks are pure functions of a schedule, each in
// its own file. A check that does not hold returns a [*Failure].
//
// Package fixpoint computes what ends up set, and must.go what must be set before. Both work on
// rules over numbered slots. So they serve schedules, parts that stand for whole schedules
// (quotient.go), and the schedules of other programs (foreign.go).
//
// A graph of another program becomes a schedule with a rule for each operation. If the file says
// what messages carry, it also becomes a second one, with a slot for each version of a memory cell.
// Its run, barrier, reuse, contributes and same-tree are those of any schedule. Two questions
// remain its own, because a schedule has no such notions:
//
//   - where in memory a block lies at the end: slots are set once and have no addresses, but a file
//     may bring the right block to the wrong place;
//   - the amount that can reach a rank, if the file gives only lengths. This is a maximum flow. A
//     fixpoint tells whether a slot is set, and knows no amounts.
//
// Package verify imports ir and what is below internal/ir, and the graphs of other programs: it
// shares no code with the generators of schedules.
package verify
