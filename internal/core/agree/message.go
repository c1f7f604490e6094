package agree

import "encoding/binary"

// Message is a message from one rank to another.
type Message struct {
	To     int    // the receiver
	Ballot uint64 // number of the ballot
	Kind   Kind
	Body   []byte // of a length that Fits, not shared with the sender's state
}

// Kind is the kind of a message.
type Kind uint32

// The kinds of messages.
const (
	Call  Kind = iota // which ranks have gone, so that others ask again
	Tally             // to the parent: the votes of the sender's subtree
	Know              // the outcome, up or down
	Kinds             // the number of kinds
)

// votedBytes is the length of an encoded vote.
const votedBytes = 8 + 4 + 2*8*maxCame

// bodyBytes is the length of the body of a message among size ranks without answers.
func bodyBytes(size int) int { return votedBytes + 4*8*words(size) }

// Fits reports whether the body of a message among size ranks can have n bytes.
func Fits(n, size int) bool {
	more := n - bodyBytes(size)
	return more >= 0 && more%answersBytes(size) == 0 && more/answersBytes(size) <= MaxQuestions
}

// content is the decoded content of a message.
type content struct {
	kind    Kind
	vote    Vote
	gone    Set     // gone ranks that the sender knows of
	losses  Losses  // the ranks of gone that are lost
	apart   Set     // Know: the gone ranks of the outcome
	answers answers // Tally, Know: to open questions
}

// body encodes s.
func (s *content) body(size int) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, bodyBytes(size)+len(s.answers)*answersBytes(size)), s.vote.Flags)
	b = binary.BigEndian.AppendUint32(b, s.vote.Generation)
	for _, of := range s.vote.came {
		b = binary.BigEndian.AppendUint64(b, of.least)
		b = binary.BigEndian.AppendUint64(b, of.most)
	}
	for _, set := range [...]Set{s.gone, s.losses.Lost, s.losses.Silent, s.apart} {
		for i := range words(size) {
			w := uint64(0)
			if set != nil {
				w = set[i]
			}
			b = binary.BigEndian.AppendUint64(b, w)
		}
	}
	return s.answers.append(b)
}

// contentOf reads a body whose length Fits. It ignores bits beyond the last rank.
func contentOf(kind Kind, body []byte, size int) *content {
	s := &content{kind: kind, vote: Vote{Flags: binary.BigEndian.Uint64(body), Generation: binary.BigEndian.Uint32(body[8:])}}
	for i := range s.vote.came {
		at := body[12+16*i:]
		s.vote.came[i] = span{binary.BigEndian.Uint64(at), binary.BigEndian.Uint64(at[8:])}
	}
	body = body[votedBytes:]
	for _, set := range [...]*Set{&s.gone, &s.losses.Lost, &s.losses.Silent, &s.apart} {
		*set = NewSet(size)
		for i := range *set {
			(*set)[i] = binary.BigEndian.Uint64(body[8*i:])
		}
		set.cut(size)
		body = body[8*len(*set):]
	}
	s.answers = heardAnswers(body, size)
	return s
}
