package sim

// pages is a list of elements, numbered from 1. It grows without copying and has spare room for at
// most a page.
type pages[T any] struct {
	pages [][]T
	n     int32
}

// The length of a page.
const (
	pageBits = 7
	pageLen  = 1 << pageBits
)

// add adds an element with any contents and returns its number.
func (p *pages[T]) add() int32 {
	if int(p.n)>>pageBits == len(p.pages) {
		p.pages = append(p.pages, make([]T, pageLen))
	}
	p.n++
	return p.n
}

func (p *pages[T]) at(i int32) *T {
	i--
	return &p.pages[i>>pageBits][i&(pageLen-1)]
}

// clear removes all elements and keeps the memory.
func (p *pages[T]) clear() { p.n = 0 }
