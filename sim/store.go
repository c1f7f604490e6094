package sim

import "math/bits"

// store is nodes and memory for their words, which what is dropped leaves to what is
// added. Words come in pieces of certain lengths.
type store struct {
	nodes pages[node]
	free  [8 * 32]int32 // by class of their words: the first node that is free, 0 if there is none
	slab  []int32       // what is left of the slab from which new pieces are cut
	size  int           // of that slab when it was made
}

// slabWords is the length of the longest slab; each is twice as long as the one
// before. What is longer than an eighth of it has its own.
const slabWords = 1 << 16

// class returns the class of pieces of n words and the length of its pieces: nine to
// sixteen times a power of two, or less than that.
func class(n int) (number, length int) {
	if n <= 16 {
		return n, n
	}
	shift := bits.Len(uint(n-1)) - 4
	times := (n-1)>>shift + 1
	return 8*shift + times, times << shift
}

// add returns the number of a new node, from 1, of a shape and of what it sends. Its
// other words may be anything.
func (s *store) add(of *shape, sends []int32) int32 {
	words := len(of.begin) + len(sends)
	c, length := class(words)
	number := s.free[c]
	if number == 0 {
		number = s.nodes.add()
		s.at(number).words = s.piece(length)
	}
	n := s.at(number)
	s.free[c] = n.next
	n.words, n.shape, n.next = n.words[:words], of, 0
	copy(n.words[len(of.begin):], sends)
	of.nodes++
	return number
}

// piece returns new memory.
func (s *store) piece(length int) []int32 {
	if length > slabWords/8 {
		return make([]int32, length)
	}
	if length > len(s.slab) {
		s.size = min(max(2*s.size, length, slabWords/1024), slabWords)
		s.slab = make([]int32, s.size)
	}
	piece := s.slab[:length:length]
	s.slab = s.slab[length:]
	return piece
}

func (s *store) at(n int32) *node { return s.nodes.at(n) }

// drop gives a node back, with its words.
func (s *store) drop(number int32) {
	n := s.at(number)
	n.shape.nodes--
	c, _ := class(cap(n.words))
	n.shape, n.next, s.free[c] = nil, s.free[c], number
}
