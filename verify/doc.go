// Package verify proves properties of schedules, or refutes them with a counterexample that a
// person can follow.
//
// A slot, once set, stays set. So one least fixpoint covers every order in which the network may
// deliver and every subset of lost multicasts. The checks are pure functions of a schedule, each in
// its own file. A check that does not hold returns a [*Failure].
//
// Package verify imports ir and what is below internal/ir: it shares no code with the generators of
// schedules.
package verify
