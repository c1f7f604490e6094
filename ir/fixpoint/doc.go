// Package fixpoint runs a schedule to its least fixpoint: which slots end up
// set, which rules fire, and in which round at the earliest.
//
// Slots only become set and rules only wait for set slots, so whatever order
// the network delivers in, the slots that end up set are the same. One pass
// over flat arrays, in time and memory proportional to the schedule (and to
// ranks × chunks), therefore speaks for every interleaving.
package fixpoint
