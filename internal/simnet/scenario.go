package simnet

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// Scenario is the complete input of a run. Its JSON form replays the run.
type Scenario struct {
	Seed   uint64  `json:"seed"`
	Ranks  int     `json:"ranks"`
	Hosts  int     `json:"hosts,omitempty"` // ranks are spread evenly over the hosts; 0: one rank on each
	Net    Net     `json:"net"`
	Comm   Comm    `json:"comm"`
	Script []Op    `json:"script"`
	Faults []Fault `json:"faults,omitempty"`
	Open   int     `json:"open,omitempty"`   // greatest number of open requests of a rank, which draws their number; default 1: it waits for each
	Full   bool    `json:"full,omitempty"`   // each rank always has Open requests open, and waits for the oldest
	Calm   Time    `json:"calm,omitempty"`   // faults end by then
	Limit  Time    `json:"limit,omitempty"`  // everything must end within this time after Calm; default 10 minutes
	Eager  bool    `json:"eager,omitempty"`  // a goroutine of each process takes rootless messages as they arrive
	Prompt bool    `json:"prompt,omitempty"` // processes answer questions at once; otherwise some take up to 20 ms
	Close  bool    `json:"close,omitempty"`  // processes close after the script; otherwise they stay
	// Shared makes all ranks use one buffer, for predictions of long messages. Their bytes are then
	// not checked.
	Shared bool `json:"shared,omitempty"`
}

// Net describes the network and the systems of the hosts.
type Net struct {
	Up   Link `json:"up"`   // from a host to the switch
	Down Link `json:"down"` // from the switch to a host
	// Loop is how long a packet takes between ranks of one host; default 5 µs.
	Loop Time `json:"loop,omitempty"`

	Multicast bool `json:"multicast,omitempty"`
	Datagram  int  `json:"datagram,omitempty"` // payload of a datagram in bytes; default 1424
	Room      int  `json:"room,omitempty"`     // receive buffer of a socket for datagrams in bytes; default 4 MiB
	// SendRoom is the greatest number of bytes of datagrams that a sender has in its link's queue;
	// default 32 KiB.
	SendRoom int `json:"send_room,omitempty"`

	Segment int  `json:"segment,omitempty"` // payload of a packet of a lane in bytes; default 1448
	Flight  int  `json:"flight,omitempty"`  // most bytes of a lane that are sent and not confirmed; default 64 KiB
	Buffer  int  `json:"buffer,omitempty"`  // buffer of the system for a lane at either end, in bytes; default 128 KiB
	Resend  Time `json:"resend,omitempty"`  // time until a lost packet of a lane is sent again, doubled each time; default 12 ms
	GiveUp  Time `json:"give_up,omitempty"` // time until a rank that confirms nothing is lost; default 10 s
	Cost    Time `json:"cost,omitempty"`    // time that a process needs for a frame or a datagram, in or out
	Ordered bool `json:"ordered,omitempty"` // simultaneous events happen in the order in which they were caused

	// First is the number of bytes of a lane that may be under way when the lane begins, or has
	// been idle for Resend. Confirmed bytes add to it. Default Flight.
	First  int  `json:"first,omitempty"`
	Steady bool `json:"steady,omitempty"` // losses do not narrow a lane's window, as with BBR
	// Confirm is the length on the wire of the confirmation of a packet of a lane, in bytes.
	// Confirmations wait in the links' queues and may be lost. They also report packets that they
	// have overtaken; these packets are then sent again at once. By default confirmations use no
	// bytes, and only timeouts reveal losses.
	Confirm int `json:"confirm,omitempty"`
	// Turn is the number of bytes that a process has under way to other hosts when long frames
	// begin to wait, as in runtime/tcp; 0: they never wait.
	Turn  int `json:"turn,omitempty"`
	Cores int `json:"cores,omitempty"` // number of cores that all processes share; 0: each process has its own
}

// Comm holds fields of runtime.Config. Anycast and Anyreduce name the algorithms of rootless
// messages and of questions. Lengths are in bytes. A zero value selects the default of
// runtime.Config.
type Comm struct {
	Anycast       string           `json:"anycast,omitempty"`
	Anyreduce     string           `json:"anyreduce,omitempty"`
	Delay         core.DelayPolicy `json:"delay,omitempty"`
	RootDelay     Time             `json:"root_delay,omitempty"`
	Chunk         int              `json:"chunk,omitempty"`
	Repair        Time             `json:"repair,omitempty"`
	Stall         Time             `json:"stall,omitempty"`
	Silence       Time             `json:"silence,omitempty"` // default: none
	Retain        int              `json:"retain,omitempty"`
	PublishWindow int              `json:"publish_window,omitempty"`
	PublishBytes  int              `json:"publish_bytes,omitempty"`
	MaxMessage    int              `json:"max_message,omitempty"`
	Idle          Time             `json:"idle,omitempty"`
}

// OpKind is the kind of a step of a script.
type OpKind string

// The kinds of steps. All ranks have the same script. The name of each collective of
// [ir.Collective] is a kind too, except collectives that publish messages. A collective step moves
// blocks of Bytes by Algorithm, from or to Root if the collective has one.
const (
	OpBcast   OpKind = "bcast"
	OpBarrier OpKind = "barrier"
	OpWait    OpKind = "wait"    // until all open requests of the rank have ended
	OpPublish OpKind = "publish" // Count messages of up to Bytes each, from Root, or from all if Root < 0
	OpTake    OpKind = "take"    // until all messages that were published before have arrived here
	OpFlush   OpKind = "flush"   // until all messages that this rank published before have arrived everywhere
	OpAsk     OpKind = "ask"     // Count questions of up to Bytes each, one after the other, by Root, or by all if Root < 0: all ranks answer
	OpLearn   OpKind = "learn"   // until the results of all questions that were asked in earlier steps are known here
	OpCompute OpKind = "compute" // for up to Time; each rank draws its own duration
	OpAgree   OpKind = "agree"   // with all remaining ranks, even if calls have failed before
)

// Op is one step. Degree, FanIn, FanOut and Hosts are parameters of the algorithm, as in
// schedule.Params. The kinds of steps say which of the other fields count.
type Op struct {
	Kind      OpKind `json:"kind"`
	Algorithm string `json:"algorithm,omitempty"`
	Root      int    `json:"root,omitempty"`
	Chunks    int    `json:"chunks,omitempty"` // default: as runtime.Comm cuts
	Degree    int    `json:"degree,omitempty"`
	FanIn     int    `json:"fan_in,omitempty"`
	FanOut    int    `json:"fan_out,omitempty"`
	Hosts     int    `json:"hosts,omitempty"` // number of hosts that the schedule knows
	Bytes     int    `json:"bytes,omitempty"`
	Counted   bool   `json:"counted,omitempty"` // each block has a length of its own, drawn up to Bytes, as in MPI's v-forms
	Count     int    `json:"count,omitempty"`
	Time      Time   `json:"time,omitempty"`
}

// FaultKind is the kind of a fault.
type FaultKind string

// The kinds of faults.
const (
	FaultLoss      FaultKind = "loss"      // packets to Host, PerMille of them, are lost
	FaultBurst     FaultKind = "burst"     // likewise, and after each loss all other packets for Amount
	FaultReorder   FaultKind = "reorder"   // packets to Host, PerMille of them, take up to Amount longer
	FaultDuplicate FaultKind = "duplicate" // datagrams to Host, PerMille of them, arrive twice
	FaultCorrupt   FaultKind = "corrupt"   // datagrams to Host, PerMille of them, arrive with altered fields and bytes
	FaultSlow      FaultKind = "slow"      // both links of Host take Amount times as long
	FaultPartition FaultKind = "partition" // nothing passes between the hosts of Side and the others
	FaultPause     FaultKind = "pause"     // the process Rank does nothing
	FaultLate      FaultKind = "late"      // the process Rank begins at Until
	FaultCrash     FaultKind = "crash"     // the process Rank dies at From; its connections end after Amount
	FaultSilent    FaultKind = "silent"    // the host of Rank dies at From, without any notice; a host with several ranks lives on, and the process dies as with FaultCrash
	FaultMismatch  FaultKind = "mismatch"  // Rank makes the call of step Amount with another root, with blocks of another length, or by another algorithm if the call has neither
)

// Fault is a fault that is active from From until Until. The kinds of faults say which of the other
// fields count. Amount is a time, except that it is a factor for FaultSlow and the index of a step
// for FaultMismatch.
type Fault struct {
	Kind     FaultKind `json:"kind"`
	Rank     int       `json:"rank,omitempty"`
	Host     int       `json:"host,omitempty"` // -1: all
	Side     uint64    `json:"side,omitempty"` // bit set of hosts
	From     Time      `json:"from,omitempty"`
	Until    Time      `json:"until,omitempty"`
	PerMille int       `json:"per_mille,omitempty"`
	Amount   Time      `json:"amount,omitempty"`

	// Way and Chunks, if set, restrict a fault of packets to one way and to some chunks. With
	// PerMille 1000 it affects exactly these packets, every time.
	Way    Way   `json:"way,omitempty"`
	Chunks []int `json:"chunks,omitempty"`
}

// Way is how packets are sent.
type Way string

// The ways.
const (
	ByMulticast Way = "multicast" // datagrams to all
	ByDatagram  Way = "datagram"  // datagrams to one rank
	ByPut       Way = "put"       // packets of lanes
)

// ErrScenario is wrapped by errors about invalid scenarios.
var ErrScenario = errors.New("invalid scenario")

// Limits of scenarios.
const (
	maxRanks = 4096
	maxBytes = 1 << 30
	maxOpen  = 1 << 10
)

// ReadScenario reads one scenario in JSON. An unknown field is an error.
func ReadScenario(r io.Reader) (*Scenario, error) {
	var s Scenario
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrScenario, err)
	}
	return &s, s.check()
}

// row returns the collective of a step. For any other step it returns the zero row, without blocks.
func (o *Op) row() ir.Collective {
	row, _ := ir.CollectiveNamed(string(o.Kind))
	return row
}

// isCollective reports whether a step is an operation of a collective, which all ranks call.
func (o *Op) isCollective() bool {
	row := o.row()
	return row.Name != "" && !row.Published
}

// spec returns the schedule of a collective step.
func (o *Op) spec(s *Scenario) (*schedule.Spec, error) {
	params := schedule.Params{Ranks: s.Ranks, Degree: o.Degree, FanIn: o.FanIn, FanOut: o.FanOut, Hosts: o.Hosts}
	row := o.row()
	if row.Rooted {
		params.Root = o.Root
	}
	if row.Blocks != nil {
		if params.Chunks = o.Chunks; o.Chunks == 0 {
			params.Chunks = s.chunks(o)
		}
	}
	spec, err := schedule.New(o.Algorithm, params)
	if err != nil {
		return nil, err
	}
	if got := spec.Header().Collective; got != string(o.Kind) {
		return nil, fmt.Errorf("%s is no %s", o.Algorithm, o.Kind)
	}
	switch {
	case !o.Counted:
	case row.Blocks == nil || row.Blocks(2) < 2 || row.Inputs != nil:
		return nil, fmt.Errorf("%s: counted, but it does not move several blocks", o.Kind)
	case !row.Everywhere(s.Ranks, params.Root) && spec.Relays():
		return nil, fmt.Errorf("%s: counted, but %s has ranks pass blocks on whose lengths they do not know", o.Kind, o.Algorithm)
	}
	return spec, nil
}

// chunks returns the number of chunks into which runtime.Comm cuts the message.
func (s *Scenario) chunks(o *Op) int {
	row := o.row()
	m := selection.Message{
		Blocks: row.Blocks(s.Ranks), Algorithm: o.Algorithm, Ranks: cmp.Or(o.Hosts, s.Ranks), Bytes: o.Bytes,
		Links: cmp.Or(s.Hosts, s.Ranks) > 1, Most: s.Comm.Chunk,
	}
	if s.Net.Multicast {
		m.Datagram = cmp.Or(s.Net.Datagram, datagramBytes)
	}
	return selection.Chunks(m)
}

// datagramBytes is the payload of a datagram that fills an Ethernet frame.
const datagramBytes = 1424

// filled returns the network with its defaults.
func (n Net) filled() Net {
	n.Loop = cmp.Or(n.Loop, 5*Microsecond)
	n.Datagram = cmp.Or(n.Datagram, datagramBytes)
	n.Room = cmp.Or(n.Room, 4<<20)
	n.SendRoom = cmp.Or(n.SendRoom, 32<<10)
	n.Segment = cmp.Or(n.Segment, 1448)
	n.Flight = cmp.Or(n.Flight, 64<<10)
	n.Buffer = cmp.Or(n.Buffer, 128<<10)
	n.Resend = cmp.Or(n.Resend, 12*Millisecond)
	n.First = cmp.Or(n.First, n.Flight)
	n.GiveUp = cmp.Or(n.GiveUp, 10*Second)
	return n
}

// filled returns the communicator with its defaults.
func (c Comm) filled() Comm {
	c.Anycast = cmp.Or(c.Anycast, "anycast/skip-ring")
	c.Anyreduce = cmp.Or(c.Anyreduce, "anyreduce/skip-ring")
	c.Repair = cmp.Or(c.Repair, 20*Millisecond)
	c.Stall = cmp.Or(c.Stall, 250*Millisecond)
	c.Retain = cmp.Or(c.Retain, 8<<20)
	c.PublishWindow = cmp.Or(c.PublishWindow, 64)
	c.PublishBytes = cmp.Or(c.PublishBytes, 256<<10)
	c.MaxMessage = cmp.Or(c.MaxMessage, 1<<20)
	c.Idle = cmp.Or(c.Idle, 200*Microsecond)
	return c
}
