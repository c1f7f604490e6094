package core

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

// answers are the questions that were open when a core failed, by origin and number, and the ranks
// whose answers are in. When ranks agree on who is lost they join what each knows, so that all tell
// the same. Only the first maxQuestions count; those of a union are among those of its parts.
type answers []answersTo

type answersTo struct {
	origin int
	seq    uint64
	in     rankset
}

// maxQuestions is how many open questions ranks agree on.
const maxQuestions = 32

// join returns the union of two lists.
func (a answers) join(other answers) answers {
	all := slices.Clone(a)
	for _, o := range other {
		i, found := slices.BinarySearchFunc(all, o, func(x, y answersTo) int {
			return cmp.Or(cmp.Compare(x.origin, y.origin), cmp.Compare(x.seq, y.seq))
		})
		in := slices.Clone(o.in)
		if found {
			in.join(all[i].in)
			all[i].in = in
		} else {
			all = slices.Insert(all, i, answersTo{o.origin, o.seq, in})
		}
	}
	return all[:min(len(all), maxQuestions)]
}

// list returns the answers in the form of errors.
func (a answers) list() (list []Answers) {
	for _, of := range a {
		list = append(list, Answers{of.origin, of.seq, of.in.list()})
	}
	return list
}

// answersBytes is the length of the answers to one question in a FrameAgree among size ranks.
func answersBytes(size int) int { return 4 + 8 + 8*len(newRankset(size)) }

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

// heardAnswers reads what append has written. It joins entries, since a sender may lie about their
// order, and ignores those of ranks beyond the last.
func heardAnswers(b []byte, size int) (a answers) {
	for n := answersBytes(size); len(b) >= n; b = b[n:] {
		of := answersTo{int(binary.BigEndian.Uint32(b)), binary.BigEndian.Uint64(b[4:]), newRankset(size)}
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

// answers returns the open questions of this rank's failed core, and whose answers it has.
func (sv *surveys) answers() (list answers) {
	for origin, a := range sv.askers {
		if a == nil {
			continue
		}
		for _, q := range a.open {
			of := answersTo{origin, q.seq, newRankset(sv.Size)}
			for _, rank := range q.state.In() {
				of.in.add(rank)
			}
			list = append(list, of)
		}
	}
	return list[:min(len(list), maxQuestions)]
}

func (s *state) answers(a answers) {
	s.num(len(a))
	for _, of := range a {
		s.num(of.origin)
		s.u64(of.seq)
		s.words(of.in)
	}
}
