package meet

import (
	"maps"
	"slices"
)

// Ranks meet in a tree: the children of rank r are the ranks fanOut*r+1 … fanOut*r+fanOut. A rank
// waits for its children and represents them, and all ranks below them, at its parent. So each rank
// talks to at most fanOut children, and rank 0 is fanOut-ary log P steps away.
const fanOut = 8

// parentOf returns the parent of a rank; rank 0 has none.
func parentOf(rank int) int { return (rank - 1) / fanOut }

// childrenOf returns the children of a rank among size ranks: first ≤ child < end.
func childrenOf(rank, size int) (first, end int) {
	return min(rank*fanOut+1, size), min(rank*fanOut+fanOut+1, size)
}

// hasChildren reports whether a rank has children.
func hasChildren(rank, size int) bool { return rank*fanOut+1 < size }

// inSubtree reports whether rank is top or below it.
func inSubtree(rank, top int) bool {
	for rank > top {
		rank = parentOf(rank)
	}
	return rank == top
}

// subtreeSize returns how many ranks are top or below it.
func subtreeSize(top, size int) (n int) {
	for first, last := top, top; first < size; first, last = first*fanOut+1, last*fanOut+fanOut {
		n += min(last, size-1) - first + 1
	}
	return n
}

// entry is what a rank publishes.
type entry struct {
	rank int
	addr string
	blob []byte
}

// roster says which ranks have come, among one rank and those below it.
type roster struct {
	want int // number of these ranks
	come map[int]entry
	gone map[int]string // ranks that had come, and why they are no longer here
	cut  map[int]bool   // ranks that had come through one that has gone
	news []int          // arrivals that the parent has not been told
}

func newRoster(rank, size int) roster {
	return roster{want: subtreeSize(rank, size), come: map[int]entry{}, gone: map[int]string{}, cut: map[int]bool{}}
}

func (r *roster) complete() bool { return len(r.come) == r.want }

func (r *roster) add(e entry) {
	r.come[e.rank] = e
	delete(r.gone, e.rank)
	delete(r.cut, e.rank)
	r.news = append(r.news, e.rank)
}

// lose removes rank and all ranks below it, which are known only through it.
func (r *roster) lose(rank int, why string) {
	for other := range r.come {
		if inSubtree(other, rank) {
			delete(r.come, other)
			r.cut[other] = true
		}
	}
	r.gone[rank] = why
}

// all returns the ranks that have come, in order, and clears the news.
func (r *roster) all() (all []entry) {
	r.news = nil
	for _, rank := range slices.Sorted(maps.Keys(r.come)) {
		all = append(all, r.come[rank])
	}
	return all
}

// takeNews returns the news that still hold, and clears them.
func (r *roster) takeNews() (news []entry) {
	for _, rank := range r.news {
		if e, here := r.come[rank]; here {
			news = append(news, e)
		}
	}
	r.news = nil
	return news
}
