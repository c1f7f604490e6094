package meet

import (
	"cmp"
	"maps"
	"slices"
)

// roster says which ranks have come, among one rank and those below it.
type roster struct {
	want int // number of these ranks
	come map[int]entry
	gone map[int]string // ranks that had come, and why they are no longer here
	cut  map[int]bool   // ranks that had come through one that has gone
	news []int          // arrivals that the rank above has not been told
}

func newRoster(rank, size int) roster {
	return roster{want: countBelow(rank, size), come: map[int]entry{}, gone: map[int]string{}, cut: map[int]bool{}}
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
		if isBelow(other, rank) {
			delete(r.come, other)
			r.cut[other] = true
		}
	}
	r.gone[rank] = why
}

// all returns the ranks that have come, in order, and clears the news.
func (r *roster) all() []entry {
	r.news = nil
	return slices.SortedFunc(maps.Values(r.come), func(a, b entry) int { return cmp.Compare(a.rank, b.rank) })
}

// take returns the news that still hold.
func (r *roster) take() (news []entry) {
	for _, rank := range r.news {
		if e, here := r.come[rank]; here {
			news = append(news, e)
		}
	}
	r.news = nil
	return news
}
