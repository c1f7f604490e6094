package mem

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/schedgen/schedgen/runtime/wire"
)

// New returns the transports of size ranks on one network.
func New(size int, o Options) ([]*Transport, error) {
	if size < 1 {
		return nil, fmt.Errorf("mem: %d ranks, want at least 1", size)
	}
	if err := o.fill(); err != nil {
		return nil, err
	}
	var id [16]byte
	random := rand.New(rand.NewPCG(o.Seed, 0x1d))
	binary.LittleEndian.PutUint64(id[:8], random.Uint64())
	binary.LittleEndian.PutUint64(id[8:], random.Uint64())
	ts := make([]*Transport, size)
	for r := range ts {
		ts[r] = newTransport(r, id, &o, ts)
	}
	return ts, nil
}

// Transports returns ts as the interface that package runtime takes.
func Transports(ts []*Transport) []wire.Transport {
	out := make([]wire.Transport, len(ts))
	for i, t := range ts {
		out[i] = t
	}
	return out
}

// inbox holds the frames sent to one rank. Senders and the receiver share it.
type inbox struct {
	mu     sync.Mutex
	lanes  lanes[lane]
	ready  []key       // lanes that are not empty, in the order in which they stopped being empty
	grams  ring[entry] // datagrams
	notes  []note      // ranks that have closed
	closed bool        // the rank takes nothing any more
	vacant int64       // when the link to the rank is free again, in nanoseconds of the clock
	groups map[wire.GroupName]*group
}

// pass returns when a frame arrives that reaches the link at arrives and occupies it for takes.
func (in *inbox) pass(arrives int64, takes time.Duration) int64 {
	if takes == 0 {
		return arrives
	}
	in.vacant = max(in.vacant, arrives) + int64(takes)
	return in.vacant
}

// key identifies a lane between this rank and a peer.
type key struct {
	peer int
	comm uint8 // 0 for LaneControl, which all communicators share
	lane wire.Lane
}

func keyOf(peer int, h *wire.Header) key {
	if h.Lane == wire.LaneOps {
		return key{peer, h.Comm, h.Lane}
	}
	return key{peer: peer, lane: h.Lane}
}

// lanes holds a T for every key. The Ts of a communicator are made at the first use and kept, since
// its number will be reused.
type lanes[T any] struct {
	peers int
	comms [1 << 8][][wire.Lanes]T
}

func (l *lanes[T]) at(k key) *T {
	c := &l.comms[k.comm]
	if *c == nil {
		*c = make([][wire.Lanes]T, l.peers)
	}
	return &(*c)[k.peer][k.lane]
}

// lane is one lane from one sender to this rank, of one communicator.
type lane struct {
	entries ring[entry]
	bytes   int
	waiting bool // the sender has more frames and wants to be woken
}

type note struct {
	rank int
	bye  bool
}

// entry is a frame or a datagram under way.
type entry struct {
	header wire.Header
	offset int // for a datagram, its offset in the chunk
	body   []byte
	ready  int64 // when it arrives, in nanoseconds of the clock
}

// ring is a queue that reuses its entries with their memory.
type ring[T any] struct {
	items []T
	head  int
	n     int
}

// grow appends an entry to the queue and returns it.
func (r *ring[T]) grow() *T {
	if r.n == len(r.items) {
		bigger := make([]T, max(4, 2*r.n))
		for i := range r.n {
			bigger[i] = r.items[(r.head+i)%r.n]
		}
		r.items, r.head = bigger, 0
	}
	r.n++
	return r.at(r.n - 1)
}

func (r *ring[T]) at(i int) *T { return &r.items[(r.head+i)%len(r.items)] }

func (r *ring[T]) drop() {
	r.head = (r.head + 1) % len(r.items)
	r.n--
}
