package sim

import (
	"github.com/schedgen/schedgen/internal/model/queue"
	"github.com/schedgen/schedgen/ir"
)

// key is the time of an event and its number. Every send and every message has a number of its own,
// in the order in which they come about.
type key struct {
	at  Time
	seq uint64
}

// never is after all other keys.
var never = key{at: 1<<63 - 1}

func (a key) before(b key) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// event is something that happens to a rank. The tie of its item says what.
type event struct {
	slot int32 // the slot of a message or its bundle; the number of its flight; the rule of a timer
	from int32 // the sender: the rank or, if a path is requested, the number of the send in it
}

// eventKind is the kind of an event.
type eventKind uint64

const (
	wakes    eventKind = iota // the rank can begin its next send or receive
	arrives                   // a message has come to the rank
	casts                     // a multicast of the rank has come to all others
	crosses                   // the first byte of a message for the rank is at a node on its way
	branches                  // the first byte of a multicast is at the node
	expires                   // a repair of the rank is due
	opens                     // the root has waited for long enough
)

// The tie of an item is its number, then the rank or node, so that ranks begin to receive one
// multicast in their order, then the kind.
const (
	rankBits = 21
	kindBits = 4
	maxSeq   = 1 << (64 - rankBits - kindBits)
)

const _ = uint(1<<rankBits - 1 - ir.MaxRanks) // a host for each rank, and their switch

func (e *engine) push(k key, kind eventKind, r int, x event) {
	e.queue.Push(queue.Item[event]{At: int64(k.at), Tie: k.seq<<(rankBits+kindBits) | uint64(r)<<kindBits | uint64(kind), Value: x})
}
