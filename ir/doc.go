// Package ir is the intermediate representation of schedules: single-assignment
// slots and triggered puts.
//
// A [Schedule] holds one [Program] for every rank; a program is a set of rules
// of the form "when all these slots are set, do these actions". Slots only ever
// become set and a rule fires once, so a schedule is monotone: the network may
// deliver in any order and the same slots end up set. That makes proofs over
// every interleaving a single fixpoint (package verify).
//
// The package also reads and writes the two exchange forms, the canonical text
// form and the JSON form schedgen/1. It imports nothing of the other packages.
package ir
