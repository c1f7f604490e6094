package meet

// Ranks meet in a tree: the ranks below rank r are fanOut*r+1 … fanOut*r+fanOut. A rank waits for
// those below it and represents all of them at the rank above. So each rank talks to at most fanOut
// ranks below, and rank 0 is fanOut-ary log P steps away.
const fanOut = 8

// above returns the rank above; rank 0 has none.
func above(rank int) int { return (rank - 1) / fanOut }

// isBelow reports whether rank is r or below it.
func isBelow(rank, r int) bool {
	for rank > r {
		rank = above(rank)
	}
	return rank == r
}

// hasBelow reports whether a rank has ranks below it.
func hasBelow(rank, size int) bool { return rank*fanOut+1 < size }

// countBelow returns how many ranks are rank or below it.
func countBelow(rank, size int) (n int) {
	for first, last := rank, rank; first < size; first, last = first*fanOut+1, last*fanOut+fanOut {
		n += min(last, size-1) - first + 1
	}
	return n
}
