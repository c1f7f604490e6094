package dag

import "sort"

// Index numbers the operations of all ranks consecutively.
type Index struct{ base []int }

// NewIndex numbers the operations of g.
func NewIndex(g *Graph) Index {
	base := make([]int, 1, len(g.Ranks)+1)
	for r := range g.Ranks {
		base = append(base, base[r]+len(g.Ranks[r]))
	}
	return Index{base}
}

// Len returns the number of operations.
func (x Index) Len() int { return x.base[len(x.base)-1] }

// Of returns the number of operation i of rank.
func (x Index) Of(rank, i int) int { return x.base[rank] + i }

// Ref returns the operation with number id.
func (x Index) Ref(id int) Ref {
	r := sort.Search(len(x.base)-1, func(r int) bool { return x.base[r+1] > id })
	return Ref{r, id - x.base[r]}
}
