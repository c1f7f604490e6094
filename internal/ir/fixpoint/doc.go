// Package fixpoint runs rules to their least fixpoint. It computes which slots end up set, which
// rules fire, and the earliest round of each.
//
// A slot, once set, stays set, and rules only wait for set slots. So the same slots end up set in
// whatever order the network delivers, and one pass over flat arrays covers every interleaving. The
// pass takes time and memory in proportion to the rules. A chunk that no program of a schedule
// mentions costs nothing, even if the header counts it.
package fixpoint
