package sim

import "math/bits"

// store holds nodes and the memory of their words. A new node reuses the memory of a dropped one.
// Words come in pieces of certain lengths.
type store struct {
	nodes pages[node]
	free  [8 * 32]int32 // by class of their words: the first free node, 0 if there is none
	slab  []int32       // the rest of the slab from which new pieces are cut
	size  int           // original length of that slab
}

// slabWords is the length of the longest slab. Each slab is twice as long as the one before. A
// piece that is longer than an eighth of a slab has its own memory.
const slabWords = 1 << 16

// class returns the class of pieces of n words and the length of its pieces: nine to sixteen times
// a power of two, or less than that.
func class(n int) (number, length int) {
	if n <= 16 {
		return n, n
	}
	shift := bits.Len(uint(n-1)) - 4
	times := (n-1)>>shift + 1
	return 8*shift + times, times << shift
}

// newNode returns the number of a new node, from 1, with the given shape and sends. Its other words
// are undefined.
func (s *store) newNode(of *shape, sends []int32) int32 {
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

// drop frees a node with its words.
func (s *store) drop(number int32) {
	n := s.at(number)
	n.shape.nodes--
	c, _ := class(cap(n.words))
	n.shape, n.next, s.free[c] = nil, s.free[c], number
}
