package schedgen

import (
	"log/slog"
	"time"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// Config says how a communicator works. All ranks must be given the same values; Transport, Waiting,
// Clock and Observe are each rank's own.
//
// The zero value of every field stands for a default. A negative value stands for none, no limit or
// never in the fields that say so; in the others it is ErrInput.
type Config struct {
	// Transport is connected to all ranks, such as one of tcp.Join. It is closed with the last
	// communicator on it, and if Join fails. Default: what the launcher's environment says; see Init.
	Transport wire.Transport

	// Algorithms names the algorithm of collectives, such as "bcast": {Name: "bcast/binomial"}. The
	// key is what stands before the slash; "anycast" is for published messages. Rules chooses where
	// there is no entry, or none with a Name.
	Algorithms map[string]Algorithm

	// Rules choose algorithms: selection.Parse reads a file of them. Default: without a Transport
	// those of the file that SCHEDGEN_RULES names, else the built-in ones.
	Rules *selection.Rules

	// Reproducible has the functions that fold give the same bits whatever the length, the place in the
	// vector, the transport, the hosts and what is lost: for a number of ranks and a function there is one
	// tree by which contributions are folded. Rules choose among the algorithms that fold by it; one of
	// Algorithms that folds by another is ErrInput. Without it, too, all ranks get the same bits, and
	// results do not depend on what arrives first.
	Reproducible bool

	Delay     DelayPolicy   // when the root of a broadcast by multicast starts; default DelayNone
	RootDelay time.Duration // the duration of DelayFixed; default 0

	Chunk    int           // bytes of a chunk at most, as far as 1024 chunks suffice; default 32 KiB or one datagram, whichever is less
	MaxBcast int           // bytes of a message of BcastBytes at most; default 1 GiB; negative: no limit
	Repair   time.Duration // base timeout of repairs; default 20 ms
	Stall    time.Duration // an operation that has not moved for so long asks its neighbour whether they mean the same; default 250 ms; negative: never, ranks that call different collectives may then hang
	Silence  time.Duration // a rank that gives no sign of life for so long while another one waits is lost; default 30 s; negative: never
	Retain   int           // bytes of past operations that are kept to answer requests; default 8 MiB; negative: none

	CastWindow int // published messages of one rank under way; default 64
	CastBytes  int // bytes of one rank's published messages under way before Publish waits; default 256 KiB
	MaxMessage int // bytes of a published message at most; default 1 MiB

	// JoinTimeout is how long the ranks that a launcher has started may take to meet; default what
	// SCHEDGEN_JOIN_TIMEOUT says, such as 90s or none, else five minutes; negative: no limit but the
	// context's. It has no meaning with a Transport, whose ranks have met.
	JoinTimeout time.Duration

	Epoch uint32      // version of the membership, on which ranks must agree; default 1
	Clock clock.Clock // also of the transport that the environment says; default clock.System

	Waiting Waiting // how callers wait
	Observe Observe // what is told of what happens; default nothing
}

// Algorithm says how a collective is done: the name of an algorithm of package schedule, such as
// "bcast/binomial", and its parameters. A parameter that is 0 takes its default, and must be 0 if
// the algorithm has no such parameter. docs/algorithms.md explains the algorithms.
type Algorithm struct {
	Name   string
	Chunks int // chunks of a block; default by its length
	Degree int // children or partners of a rank
	FanIn  int // children of a rank where signals are gathered
	FanOut int // children of a rank where signals are released
	Hosts  int // blocks of ranks that share a host; default flat
}

// DelayPolicy decides when the root of a broadcast by multicast starts. A multicast that meets nobody
// listening is lost, and has to be repaired.
type DelayPolicy uint8

// The policies.
const (
	DelayNone       = DelayPolicy(core.DelayNone)       // the root starts at once
	DelayFixed      = DelayPolicy(core.DelayFixed)      // it waits for Config.RootDelay
	DelayAdaptive   = DelayPolicy(core.DelayAdaptive)   // it waits longer after a rank, drawn for each operation, was late, and less after it was in time
	DelayRandomPeer = DelayPolicy(core.DelayRandomPeer) // it waits until one rank, drawn for each operation, has entered
)

// String returns the policy's name.
func (d DelayPolicy) String() string { return core.DelayPolicy(d).String() }

// Waiting says how callers wait for other ranks.
type Waiting struct {
	Idle   time.Duration // how long after a call the background takes over, or up to fifty times as long after many calls; default 200 µs; negative: never, others then wait until this rank's next call, for no longer than Silence
	Linger time.Duration // how long Close waits while nothing of what is still to be sent is taken; default 2 s; negative: not at all
	Spin   int           // polls that find nothing before the caller is parked; default: some tens to hundreds of microseconds' worth; negative: none
	Stay   bool          // threads stay on the cores where the system has them; default: ranks that share a core move apart
}

// Observe says what is told of what a communicator does, each rank's own. Communicators made by
// Split, Dup and Shrink have the same.
type Observe struct {
	// Log gets an event when ranks have joined, when one is lost, when the communicator fails and when
	// it is closed. While ranks meet, it gets warnings that say what this rank waits for; without a Log
	// these go to the standard error. Its handler may call any method but Close.
	Log *slog.Logger

	// Trace is called for everything that operations do, by one goroutine at a time and in the middle
	// of the work: it must be quick and must not call the communicator. Package perfetto writes files
	// of what it is told.
	Trace func(runtime.Event)
}

// below returns what package runtime is to do.
func (cfg *Config) below() runtime.Config {
	b := runtime.Config{
		Transport: cfg.Transport, Rules: cfg.Rules, Reproducible: cfg.Reproducible,
		Delay: runtime.DelayPolicy(cfg.Delay), RootDelay: cfg.RootDelay,
		Chunk: cfg.Chunk, MaxBcast: cfg.MaxBcast, Repair: cfg.Repair, Stall: cfg.Stall, Silence: cfg.Silence, Retain: cfg.Retain,
		CastWindow: cfg.CastWindow, CastBytes: cfg.CastBytes, MaxMessage: cfg.MaxMessage,
		JoinTimeout: cfg.JoinTimeout, Epoch: cfg.Epoch, Clock: cfg.Clock,
		Waiting: runtime.Waiting(cfg.Waiting), Observe: runtime.Observe(cfg.Observe),
	}
	if len(cfg.Algorithms) > 0 {
		b.Algorithms = make(runtime.Algorithms, len(cfg.Algorithms))
	}
	for collective, a := range cfg.Algorithms {
		b.Algorithms[collective] = runtime.Algorithm{Name: a.Name, Params: schedule.Params{
			Chunks: a.Chunks, Degree: a.Degree, FanIn: a.FanIn, FanOut: a.FanOut, Hosts: a.Hosts,
		}}
	}
	return b
}
