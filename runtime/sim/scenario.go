package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// Scenario is all that a run depends on. Its JSON form replays it.
type Scenario struct {
	Seed   uint64  `json:"seed"`
	Ranks  int     `json:"ranks"`
	Hosts  int     `json:"hosts,omitempty"` // ranks lie on them in even blocks; 0: one rank on each
	Net    Net     `json:"net"`
	Comm   Comm    `json:"comm"`
	Script []Op    `json:"script"`
	Faults []Fault `json:"faults,omitempty"`
	Open   int     `json:"open,omitempty"`  // each rank has as many requests open as it draws, up to this; default 1: it waits for each
	Full   bool    `json:"full,omitempty"`  // each rank has Open requests open all the time, and waits for the oldest
	Calm   Time    `json:"calm,omitempty"`  // from then on there are no faults
	Limit  Time    `json:"limit,omitempty"` // everything has ended so long after that; default 10 minutes
	Eager  bool    `json:"eager,omitempty"` // a goroutine of each process takes rootless messages as they come
	Close  bool    `json:"close,omitempty"` // processes close after the script; otherwise they stay
	Shared bool    `json:"shared,omitempty"`
	// Shared has all ranks use one buffer, for predictions of long messages:
	// their bytes are not checked then.
}

// Net is the network and the systems of the hosts.
type Net struct {
	Up   Link `json:"up"`   // from a host to the switch
	Down Link `json:"down"` // from the switch to a host
	Loop Time `json:"loop,omitempty"`
	// Loop is how long a packet takes between ranks of one host; default 5 µs.

	Multicast bool `json:"multicast,omitempty"`
	Datagram  int  `json:"datagram,omitempty"` // bytes of a datagram's payload; default 1424
	Room      int  `json:"room,omitempty"`     // bytes that a socket for datagrams takes in; default 4 MiB
	SendRoom  int  `json:"send_room,omitempty"`
	// SendRoom is how many bytes of datagrams a sender has in its link's queue
	// at most; default 32 KiB.

	Segment int  `json:"segment,omitempty"` // bytes of a lane's packet; default 1448
	Flight  int  `json:"flight,omitempty"`  // bytes of a lane that are sent and not confirmed; default 64 KiB
	Buffer  int  `json:"buffer,omitempty"`  // bytes that the system keeps of a lane at either end; default 128 KiB
	Resend  Time `json:"resend,omitempty"`  // until a lost packet of a lane is sent again, then twice as long; default 12 ms
	GiveUp  Time `json:"give_up,omitempty"` // until a rank that confirms nothing is lost; default 10 s
	Cost    Time `json:"cost,omitempty"`    // that a process needs for a frame or a datagram, in or out
	Ordered bool `json:"ordered,omitempty"` // what happens at the same time does so in the order in which it was caused

	First int `json:"first,omitempty"`
	// First is how many bytes of a lane may be under way when it begins, or has
	// been at rest for Resend; what is confirmed adds to them. Default Flight.
	Steady  bool `json:"steady,omitempty"` // losses do not narrow a lane's window, as with BBR
	Confirm int  `json:"confirm,omitempty"`
	// Confirm is how many bytes on the wire confirm a packet of a lane. They wait
	// in the links' queues and may be lost, and tell of packets that they have
	// overtaken, which are then sent again at once. Default: nothing on the wire,
	// and only time tells of losses.
	Turn int `json:"turn,omitempty"`
	// Turn is how many bytes a process has under way to other hosts when long
	// frames begin to wait, as in runtime/tcp; 0: they never do.
	Cores int `json:"cores,omitempty"` // that all processes share; 0: each has its own
}

// Comm is what runtime.Config says; zero values stand for its defaults.
type Comm struct {
	Anycast    string           `json:"anycast,omitempty"`
	Delay      core.DelayPolicy `json:"delay,omitempty"`
	RootDelay  Time             `json:"root_delay,omitempty"`
	Chunk      int              `json:"chunk,omitempty"`
	Repair     Time             `json:"repair,omitempty"`
	Stall      Time             `json:"stall,omitempty"`
	Silence    Time             `json:"silence,omitempty"` // default: none
	Retain     int              `json:"retain,omitempty"`
	CastWindow int              `json:"cast_window,omitempty"`
	CastBytes  int              `json:"cast_bytes,omitempty"`
	MaxMessage int              `json:"max_message,omitempty"`
	Idle       Time             `json:"idle,omitempty"`
}

// OpKind is what a process does in one step of its script.
type OpKind string

// The steps. All ranks have the same script. The name of each collective of the table is a step, too
// ([ir.Collective]), but for those whose messages are published: blocks of Bytes under Algorithm, from
// or to Root if it has one.
const (
	OpBcast   OpKind = "bcast"
	OpBarrier OpKind = "barrier"
	OpWait    OpKind = "wait"    // until all requests have ended that the rank has open
	OpPublish OpKind = "publish" // Count messages of up to Bytes each, from Root, or from all if Root < 0
	OpTake    OpKind = "take"    // until all that was published before is here
	OpFlush   OpKind = "flush"   // until all that this rank published before is everywhere
	OpCompute OpKind = "compute" // for up to Time, each rank for as long as it draws
	OpAgree   OpKind = "agree"   // with all that are left, also if calls have failed before
)

// Op is one step.
type Op struct {
	Kind      OpKind `json:"kind"`
	Algorithm string `json:"algorithm,omitempty"`
	Root      int    `json:"root,omitempty"`
	Chunks    int    `json:"chunks,omitempty"` // default: as runtime.Comm cuts
	Degree    int    `json:"degree,omitempty"`
	FanIn     int    `json:"fan_in,omitempty"`
	FanOut    int    `json:"fan_out,omitempty"`
	Hosts     int    `json:"hosts,omitempty"` // that the schedule knows of
	Bytes     int    `json:"bytes,omitempty"`
	Counted   bool   `json:"counted,omitempty"` // each block has a length of its own, drawn up to Bytes, as in MPI's v-forms
	Count     int    `json:"count,omitempty"`
	Time      Time   `json:"time,omitempty"`
}

// FaultKind is what goes wrong.
type FaultKind string

// The faults.
const (
	FaultLoss      FaultKind = "loss"      // packets to Host are lost, PerMille of them
	FaultBurst     FaultKind = "burst"     // likewise, and after each all others for Amount
	FaultReorder   FaultKind = "reorder"   // packets to Host take up to Amount longer
	FaultDuplicate FaultKind = "duplicate" // datagrams to Host come twice
	FaultCorrupt   FaultKind = "corrupt"   // datagrams to Host come with other fields and bytes than they were sent with
	FaultSlow      FaultKind = "slow"      // both links of Host take Amount times as long
	FaultPartition FaultKind = "partition" // nothing passes between the hosts of Side and the others
	FaultPause     FaultKind = "pause"     // the process Rank does nothing
	FaultLate      FaultKind = "late"      // the process Rank begins at Until
	FaultCrash     FaultKind = "crash"     // the process Rank dies at From; its connections end after Amount
	FaultSilent    FaultKind = "silent"    // the host of Rank dies at From: nothing tells of it
	FaultMismatch  FaultKind = "mismatch"  // Rank makes the call of step Amount with another root, or with blocks of another length, or by another algorithm if it has neither
)

// Fault is what goes wrong, from From until Until.
type Fault struct {
	Kind     FaultKind `json:"kind"`
	Rank     int       `json:"rank,omitempty"`
	Host     int       `json:"host,omitempty"` // -1: all
	Side     uint64    `json:"side,omitempty"` // hosts as bits
	From     Time      `json:"from,omitempty"`
	Until    Time      `json:"until,omitempty"`
	PerMille int       `json:"per_mille,omitempty"`
	Amount   Time      `json:"amount,omitempty"`

	// Faults of packets meet those of one way and of some chunks only, if they
	// say so: with 1000 per mille just these, each time.
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

// ErrScenario is wrapped by errors about scenarios that cannot be run.
var ErrScenario = errors.New("invalid scenario")

// The bounds of scenarios.
const (
	maxRanks = 4096
	maxBytes = 1 << 30
	maxOpen  = 1 << 10
)

// ReadScenario reads one scenario in JSON; fields that it does not have are
// errors.
func ReadScenario(r io.Reader) (*Scenario, error) {
	var s Scenario
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrScenario, err)
	}
	return &s, s.check()
}

// row returns what the collective of a step is. It is the zero row, without blocks, of a step that
// is no collective.
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

// chunks cuts a message as runtime.Comm does.
func (s *Scenario) chunks(o *Op) int {
	row := o.row()
	m := selection.Message{
		Blocks: row.Blocks(s.Ranks), Algorithm: o.Algorithm, Ranks: orElse(o.Hosts, s.Ranks), Bytes: o.Bytes,
		Links: orElse(s.Hosts, s.Ranks) > 1, Most: s.Comm.Chunk,
	}
	if s.Net.Multicast {
		m.Datagram = orElse(s.Net.Datagram, datagramBytes)
	}
	return selection.Chunks(m)
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// datagramBytes fills a frame of Ethernet.
const datagramBytes = 1424

// filled returns the network with its defaults.
func (n Net) filled() Net {
	n.Loop = orElse(n.Loop, 5*Microsecond)
	n.Datagram = orElse(n.Datagram, datagramBytes)
	n.Room = orElse(n.Room, 4<<20)
	n.SendRoom = orElse(n.SendRoom, 32<<10)
	n.Segment = orElse(n.Segment, 1448)
	n.Flight = orElse(n.Flight, 64<<10)
	n.Buffer = orElse(n.Buffer, 128<<10)
	n.Resend = orElse(n.Resend, 12*Millisecond)
	n.First = orElse(n.First, n.Flight)
	n.GiveUp = orElse(n.GiveUp, 10*Second)
	return n
}

// filled returns the communicator with its defaults.
func (c Comm) filled() Comm {
	c.Anycast = orElse(c.Anycast, "anycast/skip-ring")
	c.Repair = orElse(c.Repair, 20*Millisecond)
	c.Stall = orElse(c.Stall, 250*Millisecond)
	c.Retain = orElse(c.Retain, 8<<20)
	c.CastWindow = orElse(c.CastWindow, 64)
	c.CastBytes = orElse(c.CastBytes, 256<<10)
	c.MaxMessage = orElse(c.MaxMessage, 1<<20)
	c.Idle = orElse(c.Idle, 200*Microsecond)
	return c
}
