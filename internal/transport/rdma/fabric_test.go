package rdma

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Fabric is a set of adapters in the memory of this process, and their connections. Like adapters
// on a cable, they complete works in order, write to buffers that a receiver has posted, and refuse
// messages to a queue pair that no longer exists.
type Fabric struct {
	mu      sync.Mutex
	ports   map[[16]byte]*port
	reach   map[uint32]*queue // by number
	members map[Group][]*port
	Prompt  bool // a flag is placed, and completes, at once
	Starved int  // messages and flags for which no place was free
	counts  Counts
	numbers uint32 // number of queue pairs ever made
	lossy   int    // one of this many datagrams is lost; 0: none
	grams   int    // number of datagrams
	mute    bool   // datagrams do not say where they come from
}

// Counts is what all ranks have done.
type Counts struct {
	Calls, Sending  int // calls, and calls that send something
	Messages, Flags int // works
	Completions     int
	Pairs           int // queue pairs
}

// Counts returns the counts so far.
func (n *Fabric) Counts() Counts {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.counts
}

// torn is a word of a flag that is still to be placed.
type torn struct {
	at   *uint64
	word uint64
}

// NewFabric returns a fabric without adapters.
func NewFabric() *Fabric {
	return &Fabric{ports: map[[16]byte]*port{}, reach: map[uint32]*queue{}, members: map[Group][]*port{}}
}

// queue is a queue pair.
type queue struct {
	at      *port
	rank    int // of the peer; -1 for datagrams
	number  uint32
	remote  uint32 // reliable: the peer's number
	ready   bool   // it is connected
	buffers []Work
	broken  bool
}

type port struct {
	net     *Fabric
	address Address
	layout  Layout
	regions []Region
	queues  []*queue // by rank
	gram    *queue
	handles map[uint16]uint32 // for datagrams: numbers of queue pairs, by rank
	group   Group
	further [MostGroups]Group // by number; zero: none
	toward  [MostGroups]Group // by number, including groups that have been left
	refuses error             // error when it joins further groups
	done    []Completion
	late    int    // completions, from the first, that the next Exchange returns; -1: all
	torn    []torn // words of lines that are still to be placed
	armed   bool
	event   [2]int // a pipe
	refuse  error  // error of Exchange for works
	poor    error  // error of a lack of memory
	scratch [GRHLen + biggestGram]byte
	one     [1]*port
	looks   int
	busy    bool // the subnet manager answers no join
}

const (
	statusRetry = 12
	statusFlush = 5
)

var one [1]byte

var errNoAnswer = errors.New("transport retry counter exceeded")

// Open returns a port with its own address.
func (n *Fabric) Open(mtu int, ethernet bool) func(func(Address) Layout) (Adapter, error) {
	return func(layout func(Address) Layout) (Adapter, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		a := &port{net: n, late: -1, handles: map[uint16]uint32{}}
		a.address = Address{MTU: mtu, Ethernet: ethernet, Multicasts: ethernet, LID: uint16(len(n.ports) + 1)}
		a.address.GID = [16]byte{10: 0xFF, 11: 0xFF, 12: 10, 13: 0, 14: byte(len(n.ports) >> 8), 15: byte(len(n.ports))}
		if !ethernet {
			a.address.GID = [16]byte{0: 0xFE, 1: 0x80, 15: byte(len(n.ports))}
		}
		n.ports[a.address.GID] = a
		a.layout = layout(a.address)
		a.queues = make([]*queue, a.layout.Size)
		a.gram = a.newQueue(-1)
		err := unix.Pipe(a.event[:])
		return a, errors.Join(err, unix.SetNonblock(a.event[0], true))
	}
}

func (a *port) newQueue(rank int) *queue {
	a.net.numbers++
	q := &queue{at: a, rank: rank, number: 0x100 + a.net.numbers*7}
	a.net.reach[q.number] = q
	return q
}

func (a *port) Address() Address { return a.address }
func (a *port) Gram() uint32     { return a.gram.number }
func (a *port) Inline() int      { return 64 }
func (a *port) FD() int          { return a.event[0] }

// Allocate gives every region unique addresses and keys.
func (a *port) Allocate(n int) (Region, error) {
	a.net.mu.Lock()
	defer a.net.mu.Unlock()
	if a.poor != nil {
		return Region{}, a.poor
	}
	i := len(a.regions) + 1
	key := uint32(a.address.LID)<<16 | uint32(i)<<1
	r := Region{Memory: make([]byte, n), Base: uint64(a.address.LID)<<40 | uint64(i)<<30, Local: key, Remote: key | 1}
	a.regions = append(a.regions, r)
	return r, nil
}

// memory returns n bytes at an address, for a work with the key of their region.
func (a *port) memory(at uint64, n, key uint32) []byte {
	for _, r := range a.regions {
		if r.Local|1 == key|1 && at >= r.Base && at+uint64(n) <= r.Base+uint64(len(r.Memory)) {
			return r.Memory[at-r.Base:][:n]
		}
	}
	panic("no memory there with this key")
}

func (a *port) Open(rank int) (uint32, error) {
	a.net.mu.Lock()
	defer a.net.mu.Unlock()
	if a.queues[rank] != nil {
		panic("a second queue pair for a rank")
	}
	a.net.counts.Pairs++
	a.queues[rank] = a.newQueue(rank)
	return a.queues[rank].number, nil
}

func (a *port) Connect(rank int, to Address, number uint32) error {
	a.net.mu.Lock()
	defer a.net.mu.Unlock()
	a.queues[rank].remote, a.queues[rank].ready = number, true
	return nil
}

func (a *port) Reach(rank int, to Address, gram uint32) error {
	a.handles[uint16(rank)] = gram
	return nil
}

func (a *port) Attach(g Group, key uint32) error {
	a.net.mu.Lock()
	defer a.net.mu.Unlock()
	a.group = g
	a.net.members[g] = append(a.net.members[g], a)
	return nil
}

func (a *port) Join(number int, g Group) error {
	a.net.mu.Lock()
	defer a.net.mu.Unlock()
	if a.further[number] != (Group{}) {
		panic("a number that a group has")
	}
	if a.refuses != nil {
		return a.refuses
	}
	a.further[number], a.toward[number] = g, g
	a.net.members[g] = append(a.net.members[g], a)
	return nil
}

// Joined is true at every second call, because a subnet manager takes time.
func (a *port) Joined(int) (bool, error) {
	a.looks++
	return a.looks%2 == 0 && !a.busy, nil
}

func (a *port) Leave(number int) {
	a.net.mu.Lock()
	defer a.net.mu.Unlock()
	a.leave(a.further[number])
	a.further[number] = Group{}
}

// leave removes the port from a group.
func (a *port) leave(g Group) {
	a.net.members[g] = slices.DeleteFunc(slices.Clone(a.net.members[g]), func(other *port) bool { return other == a })
	if len(a.net.members[g]) == 0 {
		delete(a.net.members, g)
	}
}

func (a *port) Disconnect(rank int) {
	a.net.mu.Lock()
	defer a.net.mu.Unlock()
	if q := a.queues[rank]; q != nil {
		delete(a.net.reach, q.number)
	}
}

func (a *port) Exchange(works []Work, found []Completion) (posted, done int, failed, err error) {
	a.net.mu.Lock()
	defer a.net.mu.Unlock()
	a.net.counts.Calls++
	if slices.ContainsFunc(works, func(w Work) bool { return w.Op < Receive }) {
		a.net.counts.Sending++
	}
	for posted < len(works) && failed == nil {
		if failed = a.post(&works[posted]); failed == nil {
			posted++
		}
	}
	return posted, a.poll(found), failed, nil
}

func (a *port) post(w *Work) error {
	if a.refuse != nil {
		return a.refuse
	}
	switch w.Op {
	case Receive:
		a.queues[w.To].buffers = append(a.queues[w.To].buffers, *w)
	case ReceiveGram:
		a.gram.buffers = append(a.gram.buffers, *w)
	case Write, WriteImmediate:
		a.send(w)
	case SendGram, SendGroup:
		a.cast(w)
	default:
		return fmt.Errorf("no work %d", w.Op)
	}
	return nil
}

// send moves a message, or a word, to a peer.
func (a *port) send(w *Work) {
	own := a.queues[w.To]
	if !own.ready {
		panic("a queue pair sends that is not connected")
	}
	q := a.net.reach[own.remote]
	b := a.memory(w.At, w.Len, w.Local)
	switch {
	case own.broken:
		a.complete(w, 0, statusFlush)
		return
	case q == nil || q.broken:
		own.broken = true
		a.complete(w, 0, statusRetry)
		return
	case !q.ready || q.remote != own.number:
		panic("a queue pair sends to one that is not connected with it")
	case w.Op == Write:
		copy(q.at.memory(w.Remote, w.Len, w.Key), b)
	case len(q.buffers) == 0:
		a.net.Starved++
		own.broken = true
		a.complete(w, 0, statusRetry)
		return
	case isFlag(w.Immediate):
		a.net.counts.Flags++
		q.place(w, b)
	default:
		a.net.counts.Messages++
		copy(q.at.memory(w.Remote, w.Len, w.Key), b)
		q.tell(w)
	}
	if w.Flags&Signal != 0 {
		a.complete(w, 0, 0)
	}
}

// tell completes a Receive.
func (q *queue) tell(w *Work) {
	r := q.pop()
	q.at.complete(&r, int(w.Len), 0)
	q.at.done[len(q.at.done)-1].Immediate = w.Immediate
}

// place writes a flag in an order that an adapter may use. One word comes first; each flag begins
// with another word. The next Exchange places the rest, and the Exchange after that completes the
// write.
func (q *queue) place(w *Work, b []byte) {
	from := (*[wire.SealedLen / 8]uint64)(unsafe.Pointer(unsafe.SliceData(b)))
	to := (*[wire.SealedLen / 8]uint64)(unsafe.Pointer(unsafe.SliceData(q.at.memory(w.Remote, w.Len, w.Key))))
	q.at.settle(to) // writes of one line are in order
	first := q.at.net.counts.Flags % len(from)
	atomic.StoreUint64(&to[first], from[first])
	for i := range from {
		if i != first {
			q.at.torn = append(q.at.torn, torn{&to[i], from[i]})
		}
	}
	if q.at.net.Prompt {
		q.at.settle(to)
	} else if q.at.late < 0 {
		q.at.late = len(q.at.done)
	}
	q.tell(w)
}

// settle places the missing words of a line, or of all lines.
func (a *port) settle(line *[wire.SealedLen / 8]uint64) {
	a.torn = slices.DeleteFunc(a.torn, func(h torn) bool {
		missing := line == nil || h.at == &line[0] || h.at == &line[1] || h.at == &line[2]
		if missing {
			atomic.StoreUint64(h.at, h.word)
		}
		return missing
	})
}

// pop takes the first buffer.
func (q *queue) pop() Work {
	r := q.buffers[0]
	q.buffers = append(q.buffers[:0], q.buffers[1:]...)
	return r
}

// take writes b into the first buffer.
func (q *queue) take(b []byte, source uint32) {
	r := q.pop()
	n := copy(q.at.memory(r.At, r.Len, r.Local), b)
	q.at.complete(&r, n, 0)
	q.at.done[len(q.at.done)-1].Source = source
}

// cast copies a datagram to its receivers. A receiver without a buffer misses it.
func (a *port) cast(w *Work) {
	b := a.scratch[:GRHLen+w.Len]
	clear(b[:GRHLen])
	if !a.net.mute {
		copy(b[8:], a.address.GID[:])
		copy(b[32:], a.address.GID[12:])
	}
	copy(b[GRHLen:], a.memory(w.At, w.Len, w.Local))
	to := a.net.members[a.group]
	switch {
	case w.Op == SendGroup:
		to = a.net.members[a.toward[w.To]]
	case w.To != Everybody:
		to = nil
		if q := a.net.reach[a.handles[w.To]]; q != nil {
			a.one[0] = q.at
			to = a.one[:]
		}
	}
	for _, p := range to {
		if a.net.grams++; a.net.lossy > 0 && a.net.grams%a.net.lossy == 0 || len(p.gram.buffers) == 0 {
			continue
		}
		p.gram.take(b, a.gram.number)
	}
	if w.Flags&Signal != 0 {
		a.complete(w, 0, 0)
	}
}

func (a *port) complete(w *Work, n int, status uint32) {
	a.done = append(a.done, Completion{ID: w.ID, Len: uint32(n), Status: status})
	if a.armed {
		a.armed = false
		unix.Write(a.event[1], one[:])
	}
}

func (a *port) poll(list []Completion) int {
	if len(list) == 0 {
		return 0
	}
	a.settle(nil)
	n := len(a.done)
	if a.late >= 0 {
		n, a.late = a.late, -1
	}
	n = copy(list, a.done[:n])
	a.net.counts.Completions += n
	a.done = append(a.done[:0], a.done[n:]...)
	return n
}

func (a *port) Arm() error {
	a.net.mu.Lock()
	defer a.net.mu.Unlock()
	if a.armed = a.late < 0; !a.armed {
		unix.Write(a.event[1], one[:]) // late completions arrive now
	}
	return nil
}

func (a *port) Drain() error {
	var b [8]byte
	unix.Read(a.event[0], b[:])
	return nil
}

func (a *port) Explain(status uint32) error {
	if status == statusRetry {
		return errNoAnswer
	}
	return fmt.Errorf("status %d", status)
}

func (a *port) Close() error {
	a.net.mu.Lock()
	defer a.net.mu.Unlock()
	for _, q := range append(a.queues, a.gram) {
		if q != nil {
			delete(a.net.reach, q.number)
		}
	}
	a.leave(a.group)
	return errors.Join(unix.Close(a.event[0]), unix.Close(a.event[1]))
}
