package rendezvous

import (
	"cmp"
	"maps"
	"slices"
)

// roster says which ranks have come, of one rank and those below it.
type roster struct {
	want int // how many there are
	come map[int]entry
	gone map[int]string // those that had come, and why they are here no longer
	cut  map[int]bool   // those that had come through one that has gone
	news []int          // those that the rank above has not been told of
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

// lose takes out rank and all that are below it: what is known of them came through it.
func (r *roster) lose(rank int, why string) {
	for other := range r.come {
		if isBelow(other, rank) {
			delete(r.come, other)
			r.cut[other] = true
		}
	}
	r.gone[rank] = why
}

// all returns those that have come, in order; they are no news any more.
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
