package sim

import "github.com/schedgen/schedgen/runtime/core"

// Time is virtual time in nanoseconds; a run begins at 1.
type Time = core.Time

// The spans of time.
const (
	Microsecond Time = 1e3
	Millisecond Time = 1e6
	Second      Time = 1e9
)

type eventKind uint8

const (
	atSwitch  eventKind = iota // packet has crossed the link of its sender's host
	atHost                     // packet has come to host arg
	confirm                    // arg bytes of lane are known to have come
	resend                     // packet is sent again
	opened                     // lane's connection stands
	look                       // process rank looks whether there is something to do
	proceed                    // process rank has computed, or begins
	backdrop                   // the background of process rank looks
	notice                     // rank hears of peer arg: packet's head says what
	crash                      // process rank dies
	tellAgain                  // a confirmation is sent again
	lingered                   // process rank has waited long enough in close
)

// event is something that happens at a time.
type event struct {
	at   Time
	tie  uint64 // drawn, so that what happens at the same time has no fixed order
	seq  uint64 // makes the order total
	kind eventKind
	rank int
	arg  int
	note noticeKind
	pkt  *packet
	lane *lane
}

func (e *event) before(o *event) bool {
	switch {
	case e.at != o.at:
		return e.at < o.at
	case e.tie != o.tie:
		return e.tie < o.tie
	}
	return e.seq < o.seq
}

// events is a heap of what is to come.
type events struct {
	heap []event
	seq  uint64
}

func (q *events) push(e event) {
	q.seq++
	e.seq = q.seq
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !q.heap[i].before(&q.heap[up]) {
			break
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

// pop returns the first event, of which there must be one.
func (q *events) pop() event {
	first := q.heap[0]
	n := len(q.heap) - 1
	q.heap[0] = q.heap[n]
	q.heap[n] = event{}
	q.heap = q.heap[:n]
	for i := 0; ; {
		low := 2*i + 1
		if low >= n {
			return first
		}
		if low+1 < n && q.heap[low+1].before(&q.heap[low]) {
			low++
		}
		if !q.heap[low].before(&q.heap[i]) {
			return first
		}
		q.heap[i], q.heap[low] = q.heap[low], q.heap[i]
		i = low
	}
}
