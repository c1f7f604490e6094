package loss

import "github.com/schedgen/schedgen/ir"

// Blocks says which chunks a rank holds from the start of an operation, or wants at its end.
type Blocks func(rank int) ir.Chunks

// EndShows concerns an operation without bytes that has ended at rank from, among size ranks. It
// calls told for each chunk that must therefore exist: the chunks of rank from, and of each rank
// from which it wants a block. A leaf of a gather wants no block, so its end only shows that the
// leaf itself has arrived. own is the rank that learns this; it has its own chunks anyway.
func EndShows(own, from, size int, held, wanted Blocks, told func(k int)) {
	wants := wanted(from)
	for rank := range size {
		has := held(rank)
		if rank == own || rank != from && !meet(has.Blocks, wants.Blocks) {
			continue
		}
		for k := range has.All() {
			told(k)
		}
	}
}

// meet reports whether a and b have a block in common.
func meet(a, b ir.Blocks) bool {
	for i := range a.Count {
		if b.Index(a.At(i)) >= 0 {
			return true
		}
	}
	return false
}
