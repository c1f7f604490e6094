// Package rdma is what package verbs sends by: queue pairs of a network adapter that moves
// memory by itself. Frames that are put go over one reliable queue pair for each pair of
// ranks, those that may be lost over one unreliable queue pair a rank. What the adapter
// does stands behind an interface, so that all the rest is plain Go, and is tested without
// one.
//
// # Puts
//
// A message on a reliable queue pair is a row of records: heads of frames, each with a
// piece of its body (message.go). The receiver has posted buffers for messages, and says
// in each of its own how many it has posted so far (pair.go): no message is sent for which
// there is no buffer, so the adapter never has to send one again for want of it. A
// message's buffer is posted again in the Poll that has found it, whatever the sink says:
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
// completion besides (flag.go). It takes a buffer as a message does, and says in its immediate
// data what a message says at its begin: how many more can come.
//
// # Crossings
//
// All that a Poll sends, and all buffers that it posts again, are one call of
// [Adapter.Post], and what has come is one call of [Adapter.Poll]: an operation of one
// message each way crosses into C twice. A completion is asked for once in a few messages.
package rdma

// Adapter is a port of a network adapter, with the queue pairs of one rank: reliable ones,
// one for each other rank, whose rank is their number, and an unreliable one. But for
// FD it is used by one goroutine at a time.
type Adapter interface {
	// Memory is what works refer to: registered, and outside of Go's heap.
	Memory() []byte
	// Key is what a peer's [Write] into Memory needs, and Base the address that Memory
	// has for it.
	Key() uint32
	Base() uint64
	// Address is how others reach the port, Gram the number of the unreliable queue
	// pair, and Number that of the reliable one for a rank.
	Address() Address
	Gram() uint32
	Number(rank int) uint32
	// Inline is how many bytes of a message the adapter copies when it is posted.
	Inline() int

	// Connect connects the queue pair for a rank with one at a peer's port.
	Connect(rank int, to Address, number uint32) error
	// Reach makes the address at which datagrams to a rank go.
	Reach(rank int, to Address, gram uint32) error
	// Attach makes the unreliable queue pair ready: datagrams that do not have the key
	// are dropped by the adapter. It joins a group, and makes the address at which
	// datagrams to [Everybody] go, if it can multicast.
	Attach(group Group, key uint32) (multicasts bool, err error)
	// Disconnect gives up the queue pair for a rank: what is posted on it completes no
	// more.
	Disconnect(rank int)

	// Post hands works over, in order. It returns how many; err is why the next one
	// could not be.
	Post(list []Work) (n int, err error)
	// Poll takes completions of what was posted.
	Poll(list []Completion) (n int, err error)
	// Arm has the next completion make FD readable, Drain makes it unreadable again.
	Arm() error
	Drain() error
	FD() int
	// Explain says in the system's words why a work has failed.
	Explain(status uint32) error
	// Close gives everything back.
	Close() error
}

// Address is how a port is reached.
type Address struct {
	GID      [16]byte // global identifier: on Ethernet its IP address
	LID      uint16   // local identifier, which InfiniBand switches look at
	MTU      int      // bytes of a packet's payload
	Ethernet bool     // RoCE; else InfiniBand
}

// Group is where multicasts of a communicator go.
type Group [16]byte

// Everybody is in the place of a rank to which datagrams go.
const Everybody = 0xFFFF

// Op is what a work does.
type Op uint8

// The works. Those on the unreliable queue pair have names of their own.
const (
	Send           Op = iota // a message to a rank
	Write                    // into the memory of a rank
	WriteImmediate           // likewise; and a buffer that is posted there completes
	SendGram                 // a datagram to a rank, or to Everybody
	Receive                  // posts a buffer for a message of a rank
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
	At        uint64 // where its bytes are in Memory
	Len       uint32 // how many
	Key       uint32 // of the memory that is written to
	To        uint16 // rank, or Everybody
	Op        Op
	Flags     uint8
	Immediate uint32 // of a WriteImmediate: what the rank is told
}

// Completion says that a work is done. C writes it.
type Completion struct {
	ID           uint64
	Len          uint32 // bytes received
	Status       uint32 // 0: it has been done; else Explain tells why not
	Source       uint32 // of a datagram: the sender's queue pair
	Immediate    uint32 // of a WriteImmediate
	HasImmediate uint32 // 1: a WriteImmediate has used the buffer up, and nothing stands there
	_            uint32
}

// Layout is what a rank asks of an adapter.
type Layout struct {
	Rank, Size   int
	Sends        int // works of a reliable queue pair that send or write at a time
	Receives     int // buffers that are posted there at a time
	GramSends    int // likewise of the unreliable one
	GramReceives int
	Memory       int // bytes
}
