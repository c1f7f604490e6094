package agree

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Answers are the ranks whose answers to an open question are known to be in.
type Answers struct {
	Origin   int
	Seq      uint64
	Answered []int // ascending
}

// answers lists the questions that were open when a core failed, by origin and number, and the
// ranks whose answers are in. When ranks agree on the lost ranks, they join their lists, so that
// all report the same. Only the first MaxQuestions count. The first questions of a union are among
// the first questions of its parts.
type answers []answersTo

type answersTo struct {
	origin int
	seq    uint64
	in     Set
}

// MaxQuestions is the greatest number of open questions on which ranks agree.
const MaxQuestions = 32

// answersAmong converts the list of a rank among size ranks.
func answersAmong(size int, list []Answers) (a answers) {
	for _, of := range list[:min(len(list), MaxQuestions)] {
		in := NewSet(size)
		for _, rank := range of.Answered {
			in.Add(rank)
		}
		a = append(a, answersTo{of.Origin, of.Seq, in})
	}
	return a
}

// join returns the union of two lists.
func (a answers) join(other answers) answers {
	all := slices.Clone(a)
	for _, o := range other {
		i, found := slices.BinarySearchFunc(all, o, func(x, y answersTo) int {
			return cmp.Or(cmp.Compare(x.origin, y.origin), cmp.Compare(x.seq, y.seq))
		})
		in := slices.Clone(o.in)
		if found {
			in.Join(all[i].in)
			all[i].in = in
		} else {
			all = slices.Insert(all, i, answersTo{o.origin, o.seq, in})
		}
	}
	return all[:min(len(all), MaxQuestions)]
}

// list returns the answers in the form that the process gets.
func (a answers) list() (list []Answers) {
	for _, of := range a {
		list = append(list, Answers{of.origin, of.seq, of.in.List()})
	}
	return list
}

// answersBytes is the length of the answers to one question in a message among size ranks.
func answersBytes(size int) int { return 4 + 8 + 8*words(size) }

func (a answers) append(b []byte) []byte {
	for _, of := range a {
		b = binary.BigEndian.AppendUint32(b, uint32(of.origin))
		b = binary.BigEndian.AppendUint64(b, of.seq)
		for _, w := range of.in {
			b = binary.BigEndian.AppendUint64(b, w)
		}
	}
	return b
}

// heardAnswers decodes the encoding of append. It joins entries, because a sender may lie about
// their order, and ignores ranks beyond the last.
func heardAnswers(b []byte, size int) (a answers) {
	for n := answersBytes(size); len(b) >= n; b = b[n:] {
		of := answersTo{int(binary.BigEndian.Uint32(b)), binary.BigEndian.Uint64(b[4:]), NewSet(size)}
		for i := range of.in {
			of.in[i] = binary.BigEndian.Uint64(b[12+8*i:])
		}
		of.in.cut(size)
		if of.origin < size {
			a = a.join(answers{of})
		}
	}
	return a
}
