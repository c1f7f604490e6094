// Package survey holds the state of one question at one rank of a rootless allreduce (paper 001,
// §4).
//
// Any rank may ask at any time, and no rank waits for its question. The question goes out along the
// tree of the rank that asks, its origin. Every rank answers. A rank folds its own answer and the
// answers of its sub-trees, and passes one answer on to its parent. The origin thus gets the fold
// of the answers of all ranks, which goes out along the tree in turn. The rows anyreduce/skip-ring
// and anyreduce/circulant of package schedule are the same algorithm for a call that all ranks
// make, and the proofs of these rows hold here: tests compare the two.
//
// A rank may refuse to answer, or may be unable to. The question then has no result: a [Refusal]
// takes its place on the way up and on the way down.
//
// A survey is pure: it has no lock, clock or connection. Package core sends its answers.
package survey

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Overlay says where messages go: see package schedule.
type Overlay interface {
	// Forward appends to dst the ranks to which rank passes on a message of origin that came from
	// rank from. For its own message, rank == origin == from.
	Forward(dst []int, rank, origin, from int) []int
}

// Tree is a rank's place in the tree along which an origin's questions go out.
type Tree struct {
	Ranks  int // number of all ranks
	Rank   int
	Origin int
	Parent int // the rank from which questions come, and to which answers go; Rank itself at the origin
	// Children are the ranks that questions go to, in the order in which their answers are folded:
	// along the ring of all ranks, from Rank on. Sub-trees of the overlays of package schedule are
	// ranks that follow each other on that ring. So answers are folded in the order of the ranks if
	// rank 0 asks.
	Children []int
	To       []int // Children in the order in which questions are sent to them

	overlay Overlay `state:"fixed"`
}

// Place returns the place of a rank that gets the questions of origin from rank from.
func Place(o Overlay, ranks, rank, origin, from int) *Tree {
	t := &Tree{Ranks: ranks, Rank: rank, Origin: origin, Parent: from, overlay: o}
	t.To = o.Forward(nil, rank, origin, from)
	t.Children = slices.Clone(t.To)
	ahead := func(to int) int { return (to - rank + ranks) % ranks }
	slices.SortFunc(t.Children, func(a, b int) int { return ahead(a) - ahead(b) })
	return t
}

// Child returns the index of a rank in Children, or -1.
func (t *Tree) Child(rank int) int { return slices.Index(t.Children, rank) }

// Below appends to dst the ranks of the sub-tree of child i, the child first.
func (t *Tree) Below(dst []int, i int) []int { return t.below(dst, t.Children[i], t.Rank) }

func (t *Tree) below(dst []int, rank, from int) []int {
	dst = append(dst, rank)
	for _, to := range t.overlay.Forward(nil, rank, t.Origin, from) {
		dst = t.below(dst, to, rank)
	}
	return dst
}

// Fold folds two vectors of equal length: dst[i] becomes a[i]·b[i]. dst may be a.
type Fold func(dst, a, b []byte)

// Survey is one question at one rank. Each source answers once: the rank itself, and the sub-tree
// of each child.
type Survey struct {
	tree  *Tree
	fold  Fold   `state:"ignored"`
	parts []part // of the rank itself, and of Children
	ready int    // number of parts that are in, in order without a gap
	own   int    // length of the rank's own answer in bytes; -1: none
	sum   []byte // fold of these parts, unless one of them is a refusal
	no    *Refusal
}

// part is the answer of one source.
type part struct {
	in   bool
	data []byte   // nil once it is folded
	no   *Refusal // in place of data
}

// New returns a question to a rank at its place in the tree. The answers are folded by fold, which
// may be nil if the rank refuses to answer.
func New(t *Tree, fold Fold) *Survey {
	return &Survey{tree: t, fold: fold, parts: make([]part, 1+len(t.Children)), own: -1}
}

// Tree returns the rank's place.
func (s *Survey) Tree() *Tree { return s.tree }

// Answered reports whether the rank itself has answered or refused to.
func (s *Survey) Answered() bool { return s.parts[0].in }

// Heard reports whether the sub-tree of child i has answered or refused to.
func (s *Survey) Heard(i int) bool { return s.parts[1+i].in }

// Own takes the rank's own answer, which may be a refusal. It must be called once. The data belongs
// to the survey from then on.
func (s *Survey) Own(a Answer) {
	if a.Refusal == nil {
		s.own = len(a.Data)
	}
	s.take(0, a)
}

// Hear takes the answer of the sub-tree of child i. It must be called once for each child. The data
// belongs to the survey from then on.
func (s *Survey) Hear(i int, a Answer) { s.take(1+i, a) }

// Lose records that child i has left and will not answer. The answers of the ranks behind it are
// missing, too.
func (s *Survey) Lose(i int) {
	s.Hear(i, Answer{Refusal: &Refusal{Rank: s.tree.Children[i], Cause: Left, Missing: s.tree.Below(nil, i)}})
}

func (s *Survey) take(at int, a Answer) {
	s.parts[at] = part{true, a.Data, a.Refusal}
	for ; s.ready < len(s.parts) && s.parts[s.ready].in; s.ready++ {
		s.join(s.ready)
	}
}

// join folds a part to those before it.
func (s *Survey) join(at int) {
	p := &s.parts[at]
	switch {
	case p.no != nil:
		s.refuse(p.no)
	case s.no != nil:
	case at == 0:
		s.sum = p.data
	case len(p.data) != len(s.sum):
		child := s.tree.Children[at-1]
		s.refuse(&Refusal{
			Rank: child, Cause: Length, Bytes: len(p.data), Other: s.tree.Rank, OtherBytes: len(s.sum), Missing: s.tree.Below(nil, at-1),
		})
	default:
		s.fold(s.sum, s.sum, p.data)
	}
	p.data = nil
}

// refuse keeps the first refusal in the order of folding, and all ranks whose answers are missing.
// If two lengths differ, the rank's own counts as right, and so at the end the origin's.
func (s *Survey) refuse(r *Refusal) {
	if s.no != nil {
		s.no.Missing = append(s.no.Missing, r.Missing...)
		return
	}
	first := *r
	if first.Missing = slices.Clone(r.Missing); first.Cause == Length && first.Bytes == s.own {
		first.Rank, first.Bytes, first.Other, first.OtherBytes = r.Other, r.OtherBytes, r.Rank, r.Bytes
		first.Missing = append(first.Missing, first.Rank)
	}
	s.no, s.sum = &first, nil
}

// Complete reports whether all sources have answered or refused to.
func (s *Survey) Complete() bool { return s.ready == len(s.parts) }

// Answer returns the answer of the rank's whole sub-tree. The survey must be complete.
func (s *Survey) Answer() Answer { return Answer{Data: s.sum, Refusal: s.no} }

// In returns the ranks of the rank's sub-tree whose answers have come to it, ascending.
func (s *Survey) In() []int {
	var in, missing []int
	for at, p := range s.parts {
		switch {
		case !p.in:
			continue
		case at == 0:
			in = append(in, s.tree.Rank)
		default:
			in = s.tree.Below(in, at-1)
		}
		if p.no != nil {
			missing = append(missing, p.no.Missing...)
		}
	}
	in = slices.DeleteFunc(in, func(rank int) bool { return slices.Contains(missing, rank) })
	slices.Sort(in)
	return in
}

// Waits returns the ranks for which the rank waits: itself and children that have not answered, or
// the parent, which passes on the result.
func (s *Survey) Waits() (ranks []int) {
	for at, p := range s.parts {
		switch {
		case p.in:
		case at == 0:
			ranks = append(ranks, s.tree.Rank)
		default:
			ranks = append(ranks, s.tree.Children[at-1])
		}
	}
	if len(ranks) == 0 && s.tree.Parent != s.tree.Rank {
		ranks = append(ranks, s.tree.Parent)
	}
	return ranks
}

// Answer is the answer of a sub-tree, which a rank passes on to its parent, or the outcome of the
// question, which goes down the tree.
type Answer struct {
	Data    []byte   // the folded answers, unless Refusal is set
	Refusal *Refusal // why there is no answer
}

// Cause is why a question has no result.
type Cause uint8

// The causes.
const (
	NoHandler Cause = iota + 1 // the rank answers no questions
	Mismatch                   // the rank answers by another operation or another type of elements, as Text says
	TooLong                    // the rank's answer has Bytes bytes, but a message may have at most OtherBytes
	Length                     // the rank's answer has Bytes bytes, and the answer of rank Other has OtherBytes
	Left                       // the rank has closed its communicator
	causes
)

// Refusal says why a question has no result.
type Refusal struct {
	Rank       int // rank that has caused it: the first in the order of folding
	Cause      Cause
	Bytes      int // TooLong, Length
	Other      int // Length: another rank
	OtherBytes int
	Text       string // Mismatch: the operation by which the rank answers
	Missing    []int  // all ranks whose answers are missing, in the order of folding
}

// MaxText is the greatest length of a refusal's text in bytes. Longer texts are cut.
const MaxText = 256

// Append appends the encoding of a.
func (a Answer) Append(dst []byte) []byte {
	r := a.Refusal
	if r == nil {
		return append(append(dst, 0), a.Data...)
	}
	text := r.Text[:min(len(r.Text), MaxText)]
	dst = append(dst, byte(r.Cause))
	for _, n := range [...]int{r.Rank, r.Bytes, r.Other, r.OtherBytes, len(text)} {
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))
	}
	dst = append(dst, text...)
	for _, rank := range r.Missing {
		dst = binary.BigEndian.AppendUint32(dst, uint32(rank))
	}
	return dst
}

const refusalHead = 1 + 5*4

// MaxLen returns the greatest length in bytes of an encoded Answer among a number of ranks, if the
// data has at most answer bytes.
func MaxLen(ranks, answer int) int { return max(1+answer, refusalHead+MaxText+4*ranks) }

// Parse decodes an Answer among a number of ranks, which Append has encoded. The data of the answer
// is a part of b. Parse returns an error for any other input.
func Parse(b []byte, ranks int) (Answer, error) {
	switch {
	case len(b) == 0:
		return Answer{}, fmt.Errorf("an answer without a cause")
	case b[0] == 0:
		return Answer{Data: b[1:]}, nil
	case Cause(b[0]) >= causes || len(b) < refusalHead:
		return Answer{}, fmt.Errorf("a refusal for cause %d in %d bytes", b[0], len(b))
	}
	var n [5]int
	for i := range n {
		n[i] = int(binary.BigEndian.Uint32(b[1+4*i:]))
	}
	r := &Refusal{Cause: Cause(b[0]), Rank: n[0], Bytes: n[1], Other: n[2], OtherBytes: n[3]}
	b = b[refusalHead:]
	if r.Rank >= ranks || r.Other >= ranks || n[4] > min(len(b), MaxText) || (len(b)-n[4])%4 != 0 || (len(b)-n[4])/4 > ranks {
		return Answer{}, fmt.Errorf("a refusal of rank %d with %d bytes of text and %d bytes in all", r.Rank, n[4], refusalHead+len(b))
	}
	r.Text = string(b[:n[4]])
	for b = b[n[4]:]; len(b) > 0; b = b[4:] {
		rank := int(binary.BigEndian.Uint32(b))
		if rank >= ranks {
			return Answer{}, fmt.Errorf("a refusal without the answer of rank %d", rank)
		}
		r.Missing = append(r.Missing, rank)
	}
	return Answer{Refusal: r}, nil
}
