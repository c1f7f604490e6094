package core

import "github.com/schedgen/schedgen/runtime/wire"

// messages is a rank's end of all rootless messages: [rootless] if they travel by puts along an
// overlay, [spread] if they are multicast.
type messages interface {
	hasRoom() bool           // whether another message may be published
	publish(msg []byte)      // publishes msg, for which there is room
	flush() uint64           // asks whether this rank's messages have arrived; returns their number
	flushed(n uint64) bool   // whether the first n have arrived everywhere
	came(origin int) uint64  // how many messages of an origin have come here in order
	mail() int               // messages that the process has not taken
	take() Message           // takes the oldest message
	listen()                 // the process waits for messages
	comeBy() []int           // the ranks that send messages here
	left(rank int)           // another rank has left
	farewells()              // this rank is about to leave
	parting(dst []int) []int // appends the ranks that must hear when this rank leaves
	count() (sent, taken uint64)

	buffer(h *wire.Header) ([]byte, wire.Verdict) // where the body of a FramePublish goes
	arrived(h *wire.Header)                       // that body is complete
	heardListener(h *wire.Header)
	credited(h *wire.Header)
	questioned(h *wire.Header)
	answered(h *wire.Header)
	passedOn(h *wire.Header)
	acknowledged(h *wire.Header)
	asked(h *wire.Header)
}

// messages returns the rootless messages of c.
func (c *Core) messages() messages {
	if c.env.Spread {
		return &c.spread
	}
	return &c.casts
}

// inbox is a queue of messages for this process. Its length is bounded by the
// windows of all origins.
type inbox struct {
	letters []letter
	head    int
}

type letter struct {
	origin int
	seq    uint64
	parcel *parcel
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
