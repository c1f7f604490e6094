// Package fixpoint runs a schedule to its least fixpoint: which slots end up
// set, which rules fire, and in which round at the earliest.
//
// Slots only become set and rules only wait for set slots, so whatever order
// the network delivers in, the slots that end up set are the same. One pass
// over flat arrays therefore speaks for every interleaving. It takes time and
// memory in proportion to the schedule: a chunk that no program mentions costs
// nothing, whatever the header says of it.
package fixpoint
