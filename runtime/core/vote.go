package core

import (
	"encoding/binary"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Vote is a rank's part of an agreement, and the combination of the votes of all ranks that take
// part.
type Vote struct {
	Flags      uint64 // combined by AND
	Generation uint32 // combined by maximum
	came       [maxCame]span
}

// neutral is the vote that leaves others unchanged.
var neutral = Vote{Flags: ^uint64(0), came: came(nil, nil)}

func (v *Vote) join(other Vote) {
	v.Flags &= other.Flags
	v.Generation = max(v.Generation, other.Generation)
	for i := range v.came {
		v.came[i].join(other.came[i])
	}
}

// span says how many rootless messages of a rank have reached the remaining ranks: from least to
// most.
type span struct{ least, most uint64 }

// nobody is the span of no ranks.
var nobody = span{least: ^uint64(0)}

func (s *span) join(other span) {
	s.least, s.most = min(s.least, other.least), max(s.most, other.most)
}

// maxCame is how many gone ranks, the lowest ones, votes count messages of.
const maxCame = 4

// came returns the spans of the gone ranks as one rank knows them.
func came(gone rankset, of func(rank int) uint64) (spans [maxCame]span) {
	for i := range spans {
		spans[i] = nobody
	}
	for i, rank := range first(gone.list()) {
		spans[i] = span{of(rank), of(rank)}
	}
	return spans
}

// first returns the ranks whose messages votes count.
func first(ranks []int) []int { return ranks[:min(len(ranks), maxCame)] }

// Outcome is the result of an agreement: the same at all ranks.
type Outcome struct {
	Vote
	Gone []int // ranks that took no part, ascending: they are lost or have left
	Lost []int // those of Gone that are lost
}

// rankset is a set of ranks.
type rankset []uint64

func newRankset(size int) rankset { return make(rankset, (size+63)/64) }

func (s rankset) has(rank int) bool { return s[rank/64]>>(rank%64)&1 != 0 }

func (s rankset) add(rank int) { s[rank/64] |= 1 << (rank % 64) }

// join adds other to s and reports whether s has grown.
func (s rankset) join(other rankset) (grown bool) {
	for i, w := range other {
		grown = grown || w&^s[i] != 0
		s[i] |= w
	}
	return grown
}

// cut removes what is beyond the last of size ranks.
func (s rankset) cut(size int) {
	if rest := size % 64; rest != 0 {
		s[len(s)-1] &= 1<<rest - 1
	}
}

// list returns the ranks of s, ascending.
func (s rankset) list() (list []int) {
	for rank := range 64 * len(s) {
		if s.has(rank) {
			list = append(list, rank)
		}
	}
	return list
}

// The values of Arg in a FrameAgree.
const (
	agreeCall = iota // which ranks have gone, so that others ask again
	agreeVote        // to the parent: the votes of the sender's subtree
	agreeKnow        // the outcome, up or down
	agreeKinds
)

// saying is the content of a FrameAgree.
type saying struct {
	kind    uint32
	vote    Vote
	gone    rankset // gone ranks that the sender knows of
	lostSet         // those of gone that are lost
	apart   rankset // agreeKnow: the gone ranks of the outcome
	answers answers // agreeVote, agreeKnow: to open questions
}

// sayingBytes is the length of the body of a FrameAgree among size ranks without answers.
func sayingBytes(size int) int { return votedBytes + 4*8*len(newRankset(size)) }

// votedBytes is the length of an encoded vote.
const votedBytes = 8 + 4 + 2*8*maxCame

func (s *saying) frame(size int) *wire.Frame {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, sayingBytes(size)), s.vote.Flags)
	b = binary.BigEndian.AppendUint32(b, s.vote.Generation)
	for _, of := range s.vote.came {
		b = binary.BigEndian.AppendUint64(b, of.least)
		b = binary.BigEndian.AppendUint64(b, of.most)
	}
	for _, set := range [...]rankset{s.gone, s.lost, s.silent, s.apart} {
		for i := range (size + 63) / 64 {
			w := uint64(0)
			if set != nil {
				w = set[i]
			}
			b = binary.BigEndian.AppendUint64(b, w)
		}
	}
	b = s.answers.append(b)
	return &wire.Frame{Header: wire.Header{Kind: wire.FrameAgree, Lane: wire.LaneControl, Arg: s.kind, Len: len(b)}, Body: b}
}

// heardSaying reads a body that fits. It ignores bits beyond the last rank.
func heardSaying(kind uint32, body []byte, size int) *saying {
	s := &saying{kind: kind, vote: Vote{Flags: binary.BigEndian.Uint64(body), Generation: binary.BigEndian.Uint32(body[8:])}}
	for i := range s.vote.came {
		at := body[12+16*i:]
		s.vote.came[i] = span{binary.BigEndian.Uint64(at), binary.BigEndian.Uint64(at[8:])}
	}
	body = body[votedBytes:]
	for _, set := range [...]*rankset{&s.gone, &s.lost, &s.silent, &s.apart} {
		*set = newRankset(size)
		for i := range *set {
			(*set)[i] = binary.BigEndian.Uint64(body[8*i:])
		}
		set.cut(size)
		body = body[8*len(*set):]
	}
	s.answers = heardAnswers(body, size)
	return s
}
