package publish

import "slices"

// parcel is a message on its way through this rank.
type parcel struct {
	data   []byte
	unsent int // ranks to which it has not been handed over
}

func (p *parcel) clone() *parcel { return &parcel{data: slices.Clone(p.data), unsent: p.unsent} }

// inbox is a queue of messages for the process. The windows of all origins bound its length.
type inbox struct {
	letters []letter
	head    int
}

// letter is a message that waits in the ring of its origin's stream.
type letter struct {
	origin int
	seq    uint64
}

func (q *inbox) len() int { return len(q.letters) - q.head }

func (q *inbox) push(l letter) {
	if q.head > 0 && len(q.letters) == cap(q.letters) {
		n := copy(q.letters, q.letters[q.head:])
		clear(q.letters[n:])
		q.letters, q.head = q.letters[:n], 0
	}
	q.letters = append(q.letters, l)
}

func (q *inbox) pop() letter {
	l := q.letters[q.head]
	q.letters[q.head] = letter{}
	q.head++
	if q.head == len(q.letters) {
		q.letters, q.head = q.letters[:0], 0
	}
	return l
}

// clone returns an independent copy.
func (q *inbox) clone() inbox {
	return inbox{letters: slices.Clone(q.letters[q.head:])}
}
