package simnet

import (
	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/internal/model/queue"
)

// Time is virtual time in nanoseconds. A run begins at 1.
type Time = core.Time

// Units of time.
const (
	Microsecond Time = 1e3
	Millisecond Time = 1e6
	Second      Time = 1e9
)

type eventKind uint8

const (
	atSwitch  eventKind = iota // packet has crossed the link of its sender's host
	atHost                     // packet has arrived at host arg
	confirm                    // arg bytes of lane are confirmed
	resend                     // packet is sent again
	opened                     // lane's connection is open
	look                       // process rank looks whether there is something to do
	proceed                    // process rank has finished computing, or begins
	backdrop                   // the background of process rank looks
	notice                     // rank hears of peer arg; the event's note says what
	crash                      // process rank dies
	tellAgain                  // a confirmation is sent again
	lingered                   // process rank has waited long enough in close
)

// event is something that happens at a given time.
type event struct {
	at   Time
	tie  uint64 // drawn, so that simultaneous events have no fixed order
	kind eventKind
	rank int
	arg  int
	note noticeKind
	pkt  *packet
	lane *lane
}

// events is the queue of future events, ordered by time, then by tie, then by the order in which
// they were caused.
type events struct{ queue queue.Queue[event] }

func (q *events) push(e event) {
	q.queue.Push(queue.Item[event]{At: int64(e.at), Tie: e.tie, Value: e})
}

// pop removes and returns the first event. There must be one.
func (q *events) pop() event { return q.queue.Pop().Value }
