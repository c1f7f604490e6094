// Package rdma is what package verbs sends by: queue pairs of a network adapter that moves
// memory by itself. Frames that are put go over a reliable queue pair for each pair of
// ranks that puts something, those that may be lost over one unreliable queue pair a rank. What the adapter
// does stands behind an interface, so that all the rest is plain Go, and is tested without
// one.
//
// # Connections
//
// A rank makes its queue pair for another when a schedule is to put something there, or
// something is put, and keeps it (paper 002, section 6). The two tell each other the numbers over
// TCP, the way by which the ranks have met (open.go). A connection of TCP also ends with its
// process, and so tells that a peer is gone.
//
// # Puts
//
// A message is a row of records: heads of frames, each with a
// piece of its body (message.go). It is written into the ring of its receiver, which has so many
// places for messages of each peer, and says
// in each message of its own how many have been free so far (pair.go): none is sent for which
// there is no place, so the adapter never has to send one again for want of it. A
// message's place is free again in the Poll that has found it, whatever the sink says:
// records that the sink holds back are copied aside. How many bytes of a lane may be aside
// is bounded, and known to the sender, who is told when some of them have been taken
// (lane.go). So a lane that is held holds back its sender, and no other lane.
//
// # Datagrams
//
// They are those of package fragment. Each is checked three times: by the queue pair's key,
// by the sender's address and queue pair, and by the communicator's identity.
//
// # Flags
//
// A flag is a write into the window of its receiver, which looks there, and is told of it by a
// completion besides (flag.go). It takes a place as a message does, and both say in their
// immediate data how many more can come.
//
// # Crossings
//
// All that a Poll sends, what it makes free again, and what has completed are one call of
// [Adapter.Exchange], and what is sent because of that is a second one. A completion is asked for
// once in a few messages.
package rdma

// Adapter is a port of a network adapter, with the queue pairs of one rank: reliable ones
// for other ranks, whose rank is their number, and an unreliable one. But for
// FD it is used by one goroutine at a time.
type Adapter interface {
	// Allocate returns n bytes that works can refer to, outside of Go's heap. They are
	// zero, and are given back by Close.
	Allocate(n int) (Region, error)
	// Address is how others reach the port, and Gram the number of the unreliable queue
	// pair.
	Address() Address
	Gram() uint32
	// Inline is how many bytes of a message the adapter copies when it is posted.
	Inline() int

	// Open makes the queue pair for a rank, which takes works that receive, and returns
	// its number.
	Open(rank int) (number uint32, err error)
	// Connect connects it with one at a peer's port: then it receives. It may send when the
	// peer's does.
	Connect(rank int, to Address, number uint32) error
	// Disconnect gives up the queue pair for a rank, if there is one: what is posted on it
	// completes no more.
	Disconnect(rank int)
	// Reach makes the address at which datagrams to a rank go.
	Reach(rank int, to Address, gram uint32) error
	// Attach makes the unreliable queue pair ready: datagrams that do not have the key
	// are dropped by the adapter. It joins a group, unless that is zero, and makes the address at
	// which datagrams to [Everybody] go.
	Attach(group Group, key uint32) error

	// Join begins to have the unreliable queue pair join a further group, under a number below MostGroups,
	// and Joined reports whether it is in it; err says why it will not be. The group has the key of Attach.
	// Leave gives that back, but for the address at which the group's datagrams go: works that are posted may
	// need it until the number is used again.
	Join(number int, group Group) error
	Joined(number int) (bool, error)
	Leave(number int)

	// Exchange hands works over, in order, and takes completions of what was posted before.
	// It returns how many of both; failed is why the next work could not be posted. After
	// err no completion can be taken any more.
	Exchange(works []Work, found []Completion) (posted, done int, failed, err error)
	// Arm has the next completion make FD readable, Drain makes it unreadable again.
	Arm() error
	Drain() error
	FD() int
	// Explain says in the system's words why a work has failed.
	Explain(status uint32) error
	// Close gives everything back.
	Close() error
}

// Region is memory that is registered with the adapter.
type Region struct {
	Memory []byte
	Base   uint64 // the address that Memory has for works
	Local  uint32 // key of works that read or write it
	Remote uint32 // key of works of peers
}

// Address is how a port is reached.
type Address struct {
	GID      [16]byte // global identifier: on Ethernet its IP address
	LID      uint16   // local identifier, which InfiniBand switches look at
	MTU      int      // bytes of a packet's payload
	Ethernet bool     // RoCE; else InfiniBand

	Multicasts bool // it can join groups
}

// Group is where multicasts of a communicator go.
type Group [16]byte

// MostGroups is how many further groups a rank is in at most, at a time.
const MostGroups = 256

// Everybody is in the place of a rank to which datagrams go.
const Everybody = 0xFFFF

// Op is what a work does.
type Op uint8

// The works. Those on the unreliable queue pair have names of their own.
const (
	Write          Op = iota // into the memory of a rank
	WriteImmediate           // likewise; and a Receive that is posted there completes
	SendGram                 // a datagram to a rank, or to Everybody
	SendGroup                // likewise to a further group: To is its number
	Receive                  // completes when a rank has written something, with WriteImmediate
	ReceiveGram              // posts a buffer for a datagram, and GRHLen bytes that come before it
)

// Flags of a work.
const (
	Signal  = 1 << iota // it completes also when nothing has gone wrong
	Inlined             // its bytes are copied when it is posted
)

// GRHLen is how many bytes stand before a datagram that has come: where it comes from.
const GRHLen = 40

// Work is one thing that an adapter is to do. C reads it.
type Work struct {
	ID        uint64 // of its completion
	Remote    uint64 // address that is written to
	At        uint64 // where its bytes are
	Len       uint32 // how many
	Local     uint32 // key of the memory where they are
	Key       uint32 // of the memory that is written to
	To        uint16 // rank, or Everybody; of a SendGroup a number
	Op        Op
	Flags     uint8
	Immediate uint32 // of a WriteImmediate: what the rank is told
	_         uint32
}

// Completion says that a work is done. C writes it.
type Completion struct {
	ID        uint64
	Len       uint32 // bytes received, or written by a rank
	Status    uint32 // 0: it has been done; else Explain tells why not
	Source    uint32 // of a datagram: the sender's queue pair
	Immediate uint32 // of a Receive: what the rank has told
}

// Layout is what a rank asks of an adapter.
type Layout struct {
	Rank, Size   int
	Sends        int // works of a reliable queue pair that write at a time
	Receives     int // works that receive there at a time
	GramSends    int // likewise of the unreliable one
	GramReceives int
}
