package sim

import (
	"slices"
	"sort"

	"github.com/schedgen/schedgen/ir"
)

// numbering numbers the chunks of one program if the operation has several blocks and a rank uses
// few of all chunks. An alltoall of P ranks has P² blocks, and a program names about 2P of them.
// Then a node has slots only for the chunks for which its rules or its end wait. They are numbered
// in the order in which the program names them. So programs that differ only in chunks, such as a
// ring's programs, have one shape.
//
// Messages under way carry the numbers of the operation: 0 for enter, 1+k for chunk k, and after
// all chunks the signals. A node with another numbering looks the slots up ([node.local]).
type numbering struct {
	chunks []ir.Slot         // in the order of their numbers
	place  map[ir.Slot]int32 // by slot: its index in chunks
	sorted []uint64          // scratch for write
}

// The words of a chunk that a node has numbered. They are in the order of the chunks.
const (
	knownChunk = iota // k of chunk k
	knownSlot         // the number of its slot in the node

	knownWords
)

// note numbers the chunks of p. It leaves out chunks that a schedule of the given number of chunks
// does not have.
func (n *numbering) note(p *ir.Program, chunks int, repairs bool) {
	if n.place == nil {
		n.place = make(map[ir.Slot]int32)
	}
	clear(n.place)
	n.chunks = n.chunks[:0]
	add := func(s ir.Slot) {
		if s.Kind() != ir.KindChunk || s.Index() >= chunks {
			return
		}
		if _, ok := n.place[s]; !ok {
			n.place[s] = int32(len(n.chunks))
			n.chunks = append(n.chunks, s)
		}
	}
	for i := range p.Rules {
		if r := &p.Rules[i]; kept(r, repairs) {
			for _, s := range r.When {
				add(s)
			}
			add(r.Unless)
		}
	}
	for _, s := range p.Done {
		add(s)
	}
}

// numberOf returns the number of a chunk's slot, or -1 if the program does not name it. For any
// other slot it returns number.
func (n *numbering) numberOf(s ir.Slot, number int32) int32 {
	if s.Kind() != ir.KindChunk {
		return number
	}
	if i, ok := n.place[s]; ok {
		return 1 + i
	}
	return -1
}

// write appends the words of all chunks.
func (n *numbering) write(words []int32) []int32 {
	n.sorted = n.sorted[:0]
	for i, s := range n.chunks {
		n.sorted = append(n.sorted, uint64(s.Index())<<32|uint64(1+i))
	}
	slices.Sort(n.sorted)
	for _, x := range n.sorted {
		words = append(words, int32(x>>32), int32(uint32(x)))
	}
	return words
}

// knows returns the words of the chunks that n has numbered.
func (n *node) knows() []int32 { return n.words[n.shape.known:n.shape.lists] }

// local returns the number of a slot in n, given its number in the operation, which has the given
// number of chunks. It returns -1 if n does not need the slot.
func (n *node) local(number int32, chunks int) int32 {
	switch {
	case number == 0:
		return 0
	case int(number) > chunks:
		return number - int32(chunks) + n.shape.chunks
	}
	known, k := n.knows(), number-1
	i := sort.Search(len(known)/knownWords, func(i int) bool { return known[i*knownWords+knownChunk] >= k })
	if i*knownWords == len(known) || known[i*knownWords+knownChunk] != k {
		return -1
	}
	return known[i*knownWords+knownSlot]
}
