package sim

import "math/bits"

// store is memory for nodes: what one gives back another takes. Its pieces are
// five to eight times as long as a power of two.
type store struct {
	free  [4 * 32][][]int32 // by class
	slab  []int32           // what is left of the slab from which new pieces are cut
	size  int               // of that slab when it was made
	nodes []node
	idle  []int32 // numbers of nodes that are free
}

// slabWords is the length of the longest slab; each is twice as long as the one
// before. What is longer than an eighth of it has its own.
const slabWords = 1 << 16

// class returns the class of pieces of n words and the length of its pieces.
func class(n int) (number, length int) {
	n = max(n, 8)
	shift := bits.Len(uint(n-1)) - 3
	times := (n-1)>>shift + 1
	return 4*shift + times, times << shift
}

// get returns n words, of any content.
func (s *store) get(n int) []int32 {
	c, length := class(n)
	if free := s.free[c]; len(free) > 0 {
		piece := free[len(free)-1]
		s.free[c] = free[:len(free)-1]
		return piece[:n]
	}
	if length > slabWords/8 {
		return make([]int32, n, length)
	}
	if length > len(s.slab) {
		s.size = min(max(2*s.size, length, slabWords/1024), slabWords)
		s.slab = make([]int32, s.size)
	}
	piece := s.slab[:n:length]
	s.slab = s.slab[length:]
	return piece
}

// add returns the number of a new node, from 1, of a shape and of what it sends. Its
// other words may be anything.
func (s *store) add(of *shape, sends []int32) int32 {
	number := s.node()
	n := s.at(number)
	n.words, n.shape = s.get(len(of.begin)+len(sends)), of
	copy(n.words[len(of.begin):], sends)
	of.nodes++
	return number
}

// node returns the number of a node that is free.
func (s *store) node() int32 {
	if k := len(s.idle); k > 0 {
		n := s.idle[k-1]
		s.idle = s.idle[:k-1]
		return n
	}
	s.nodes = append(s.nodes, node{})
	return int32(len(s.nodes))
}

func (s *store) at(n int32) *node { return &s.nodes[n-1] }

// drop gives a node and its words back.
func (s *store) drop(n int32) {
	own := s.at(n)
	own.shape.nodes--
	c, _ := class(cap(own.words))
	s.free[c] = append(s.free[c], own.words)
	*own = node{}
	s.idle = append(s.idle, n)
}
