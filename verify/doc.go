// Package verify proves properties of schedules, or refutes them with a
// counterexample that a person can follow.
//
// Slots only ever become set, so one least fixpoint speaks for every order in
// which the network may deliver and for every subset of lost multicasts. The
// checks are pure functions over a schedule; each is in a file of its own, and
// a check that does not hold returns a [*Failure].
package verify
