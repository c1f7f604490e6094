package sim

import (
	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/sim/queue"
)

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
	kind eventKind
	rank int
	arg  int
	note noticeKind
	pkt  *packet
	lane *lane
}

// events is what is to come: by time, then by what was drawn, then in the order in
// which it was caused.
type events struct{ queue queue.Queue[event] }

func (q *events) push(e event) {
	q.queue.Push(queue.Item[event]{At: int64(e.at), Tie: e.tie, Value: e})
}

// pop returns the first event, of which there must be one.
func (q *events) pop() event { return q.queue.Pop().Value }
