// Package rdma is the transport behind package verbs. It uses the queue pairs of a network adapter
// that accesses memory itself. Puts use a reliable queue pair for each pair of ranks that put
// something to each other. Frames that may be lost use one unreliable queue pair for each rank. The
// adapter is behind an interface, so that the rest is plain Go and can be tested without an
// adapter.
//
// # Connections
//
// A rank creates its queue pair for another rank when a schedule will put something there, or when
// something is put, and keeps it (paper 002, section 6). The two exchange the numbers of their
// queue pairs over the TCP connections by which the ranks have met (open.go). A TCP connection also
// ends with its process, which shows that a peer is gone.
//
// # Puts
//
// A message is a sequence of records: headers of frames, each with a piece of its body
// (message.go). The sender writes a message into the ring of its receiver, which has a fixed number
// of places for each peer. In each of its own messages, the receiver says how many places have been
// free so far (pair.go). The sender sends no message without a free place, so the adapter never has
// to retransmit for lack of a place. The place of a message is free again after the Poll that has
// found the message, whatever the sink decides: records that the sink holds are copied aside. The
// number of bytes of a lane that may be aside is bounded and known to the sender. The receiver
// tells the sender when some of them have been taken (lane.go). So a held lane holds up its sender,
// and no other lane.
//
// # Datagrams
//
// Package fragment defines the datagrams. Each is checked three times: by the queue pair's key, by
// the sender's address and queue pair, and by the communicator's identity.
//
// # Flags
//
// A flag is a write into the window of its receiver. The receiver looks there, and also gets a
// completion (flag.go). A flag takes a place as a message does, and the immediate data of both says
// how many more may be sent.
//
// # Crossings
//
// One call of [Adapter.Exchange] hands over everything that a Poll sends and frees, and returns
// completions. A second call hands over the responses. A completion is requested once in a few
// messages only.
package rdma

// Adapter is a port of a network adapter with the queue pairs of one rank: a reliable queue pair
// for each other rank, numbered by that rank, and one unreliable queue pair. Only one goroutine at
// a time uses it, except FD.
type Adapter interface {
	// Allocate returns n zero bytes outside of Go's heap that works can refer to. Close frees them.
	Allocate(n int) (Region, error)
	// Address returns how other ranks reach the port, and Gram the number of the unreliable queue
	// pair.
	Address() Address
	Gram() uint32
	// Inline returns how many bytes of a message the adapter copies when the message is posted.
	Inline() int

	// Open creates the queue pair for a rank, which accepts receiving works, and returns its
	// number.
	Open(rank int) (number uint32, err error)
	// Connect connects the queue pair for a rank with a queue pair at the peer's port. From then on
	// it receives. It may send as soon as the peer's queue pair is connected too.
	Connect(rank int, to Address, number uint32) error
	// Disconnect destroys the queue pair for a rank, if there is one. Works that are posted on it
	// do not complete.
	Disconnect(rank int)
	// Reach creates the address for datagrams to a rank.
	Reach(rank int, to Address, gram uint32) error
	// Attach makes the unreliable queue pair ready. The adapter drops datagrams without the key.
	// Attach joins a group, unless the group is zero, and creates the address for datagrams to
	// [Everybody].
	Attach(group Group, key uint32) error

	// Join begins to make the unreliable queue pair join a further group, under a number below
	// MostGroups. The group uses the key of Attach. Joined reports whether the queue pair is in the
	// group; err says why it cannot be. Leave leaves the group, but keeps the address for the
	// group's datagrams, which posted works may need, until the number is used again.
	Join(number int, group Group) error
	Joined(number int) (bool, error)
	Leave(number int)

	// Exchange posts works in order and takes completions of earlier works. It returns the numbers
	// of both. failed says why the next work could not be posted. After an err no further
	// completion can be taken.
	Exchange(works []Work, found []Completion) (posted, done int, failed, err error)
	// Arm makes the next completion make FD readable. Drain makes FD unreadable again.
	Arm() error
	Drain() error
	FD() int
	// Explain returns the system's text for the status of a failed work.
	Explain(status uint32) error
	// Close frees everything.
	Close() error
}

// Region is memory that is registered with the adapter.
type Region struct {
	Memory []byte
	Base   uint64 // address of Memory for works
	Local  uint32 // key for works that read or write it
	Remote uint32 // key for works of peers
}

// Address is the address of a port.
type Address struct {
	GID      [16]byte // global identifier: on Ethernet the IP address
	LID      uint16   // local identifier, which InfiniBand switches use
	MTU      int      // payload of a packet in bytes
	Ethernet bool     // RoCE; otherwise InfiniBand

	Multicasts bool // the port can join groups
}

// Group is the destination of a communicator's multicasts.
type Group [16]byte

// MostGroups is the greatest number of further groups that a rank is in at a time.
const MostGroups = 256

// Everybody replaces the rank as the receiver of multicast datagrams.
const Everybody = 0xFFFF

// Op is the kind of a work.
type Op uint8

// The kinds of works. Works on the unreliable queue pair have their own kinds.
const (
	Write          Op = iota // writes into the memory of a rank
	WriteImmediate           // likewise, and completes a Receive that is posted there
	SendGram                 // sends a datagram to a rank, or to Everybody
	SendGroup                // sends a datagram to further group To
	Receive                  // completes when a rank has written something with WriteImmediate
	ReceiveGram              // posts a buffer for a datagram, with GRHLen bytes before it
)

// Flags of a work.
const (
	Signal  = 1 << iota // the work completes even if it succeeds
	Inlined             // the bytes are copied when the work is posted
)

// GRHLen is the length of the header before a received datagram in bytes. The header says where the
// datagram is from.
const GRHLen = 40

// Work is one work of an adapter. C reads it.
type Work struct {
	ID        uint64 // ID of its completion
	Remote    uint64 // address that is written to
	At        uint64 // address of its bytes
	Len       uint32 // number of its bytes
	Local     uint32 // key of the memory that holds its bytes
	Key       uint32 // key of the memory that is written to
	To        uint16 // rank, or Everybody; for a SendGroup the number of the group
	Op        Op
	Flags     uint8
	Immediate uint32 // data of a WriteImmediate for the receiver
	_         uint32
}

// Completion reports the end of a work. C writes it.
type Completion struct {
	ID        uint64
	Len       uint32 // bytes received, or written by a rank
	Status    uint32 // 0: the work has succeeded; otherwise see Explain
	Source    uint32 // for a datagram: the sender's queue pair
	Immediate uint32 // for a Receive: the sender's data
}

// Layout says what a rank needs of an adapter.
type Layout struct {
	Rank, Size   int
	Sends        int // greatest number of writing works on a reliable queue pair at a time
	Receives     int // greatest number of receiving works there at a time
	GramSends    int // likewise for the unreliable queue pair
	GramReceives int
}
