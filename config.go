package schedgen

import (
	"log/slog"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// Config configures a communicator. All ranks must have the same values, except that each rank has
// its own Transport, JoinTimeout, Waiting, Clock and Observe.
//
// The zero value of every field stands for a default. Some fields say that a negative value means
// none, no limit or never. In the other fields a negative value is ErrInput.
type Config struct {
	// Transport is connected to all ranks, such as one of tcp.Join. It is closed with the last
	// communicator on it, or if Join fails. By default the launcher's environment chooses it; see
	// Init.
	Transport wire.Transport

	// Algorithms names the algorithm of collectives, such as "bcast": {Name: "bcast/binomial"}. The
	// key is the part before the slash. "anycast" is for published messages. Rules choose for
	// collectives without an entry, or with an entry without a Name.
	Algorithms map[string]Algorithm

	// Rules choose algorithms: selection.Parse reads a file of them. Without a Transport the
	// default is the file that SCHEDGEN_RULES names, if it is set. Otherwise the default is the
	// built-in rules.
	Rules *selection.Rules

	// Learn names a file. If it is set, blocking collectives choose their algorithms by the times of
	// their first calls, and look at the times again now and then (docs/tuning.md). When rank 0
	// closes its last communicator, it writes rules for later runs to the file. os.DevNull keeps
	// nothing. By default nothing is learned, unless SCHEDGEN_LEARN is set and there is no Transport.
	//
	// Sums of floating-point numbers keep their bits: only algorithms that fold in the same order are
	// tried. Integers, Min, Max and [Exact] give the same bits in every order. Collectives with
	// counts, and those in Algorithms with a Name, learn nothing. Started and prepared collectives
	// use the algorithm chosen so far. For each call, all ranks must block, or all must start it. A
	// timed call waits until all ranks have called it, even at a root.
	Learn string

	// Network says how the ranks' hosts are connected: rank r is on node r. network.Parse reads a
	// file. Without a Transport the default is the file that SCHEDGEN_NETWORK names, if it is set.
	// Joining makes schedules for the network and simulates them, which may take some seconds. The
	// program must import package synth, if only as _. A schedule replaces the algorithm that Rules choose if the simulation says that it is at least
	// 1.2 times faster. Communicators made by Dup use these schedules, too. Those made by Split and
	// Shrink do not.
	Network *network.Network

	// Reproducible makes collectives that fold give the same bits for any length, place in the
	// vector, transport, hosts and losses. Contributions are folded by one tree, which only the
	// number of ranks and the function decide; for Ask, also the rank that asks. Rules choose among
	// the algorithms that fold by this tree. If one of Algorithms folds by another tree, that is
	// ErrInput. All ranks get the same bits without Reproducible, too, and results do not depend on
	// the order in which messages arrive.
	Reproducible bool

	// Prepare names operations whose schedules are compiled when the communicator is made, so that
	// their first call takes no longer than later ones. Ranks need not name the same. A wrong one is
	// ErrInput. Communicators made by Dup compile them, too. Those made by Split and Shrink do not.
	// Functions such as PrepareAllreduce prepare a call with its buffers.
	Prepare []Shape

	Delay     DelayPolicy   // when the root of a broadcast by multicast starts; default DelayNone
	RootDelay time.Duration // the duration of DelayFixed; default 0

	// Chunk is the largest number of bytes of a chunk, as far as 1024 chunks suffice. The default
	// depends on the algorithm and the transport; mostly it is 32 KiB or one datagram, whichever is
	// less. Algorithm.Chunks overrides Chunk, and bcast/symmetric ignores it.
	Chunk int
	// MaxBcast is the largest number of bytes of a message of BcastBytes, and of each value of
	// GatherBytes, AllgatherBytes, AlltoallBytes and ScatterBytes. The default is 1 GiB.
	// Negative means no limit.
	MaxBcast int
	Repair   time.Duration // base timeout of repairs; default 20 ms
	// Stall is how long an operation may stand still before the rank asks its neighbour whether
	// both mean the same operation. The default is 250 ms. Negative means never: ranks that call
	// different collectives may then hang.
	Stall time.Duration
	// Silence is how long a rank may give no sign of life while another rank waits for it. Then the
	// silent rank is lost. The default is 30 s. Negative means never.
	Silence time.Duration
	// Quorum says which ranks may go on when others are gone: Shrink fails with ErrQuorum if Quorum
	// returns false. By default any ranks may. left are the ranks that remain, ascending, and of is
	// the number of all ranks. Both count the ranks of the communicator that Join or Split has
	// made, not those of the one that shrinks: when 5 ranks have become 3 and one more is lost,
	// left has 2 of 5. So with [Majority] at most one part of a cut network goes on, however often
	// it is cut. Ranks that have closed the communicator are gone, too. Dup keeps the count, and
	// Split begins another one. Quorum must decide alike at all ranks, by its arguments alone, and
	// must not call the communicator.
	Quorum func(left []int, of int) bool
	// Retain is how many bytes of past operations are kept to answer requests. One operation keeps
	// at most an eighth of them, and a longer message is not kept. The default is 8 MiB. Negative
	// means none.
	Retain int

	PublishWindow int // largest number of published messages of one rank under way; default 64
	// PublishBytes is the largest number of bytes of one rank's published messages under way.
	// Publish waits while there are more. The default is 256 KiB.
	PublishBytes int
	MaxMessage   int // largest number of bytes of a published message, at most 2^31-1; default 1 MiB

	// JoinTimeout is the time limit for the ranks that a launcher has started to meet. By default
	// SCHEDGEN_JOIN_TIMEOUT sets it, such as 90s or none, and else it is five minutes. Negative
	// means no limit but the context's. It has no meaning with a Transport, because its ranks have
	// met.
	JoinTimeout time.Duration

	Epoch uint32 // version of the membership; ranks must agree on it; default 1
	// Clock is also the clock of the transport that the environment chooses. The default is
	// clock.System.
	Clock clock.Clock

	Waiting Waiting // how callers wait
	Observe Observe // receives the communicator's events; none by default
}

// Shape is what the schedule of an operation depends on, besides the communicator: an Allreduce of
// eight float64 is {Collective: "allreduce", Bytes: 64}.
type Shape struct {
	Collective string // such as "allreduce", "reduce-scatter" or "bcast"
	Bytes      int    // the length of a block in bytes; with Counted, of the longest
	Root       int    // 0 for a collective that has none
	Ordered    bool   // the operation that folds does not commute
	Counted    bool   // blocks have different lengths, as for Gatherv
}

// Algorithm names an algorithm of package schedule, such as "bcast/binomial", and its parameters. A
// parameter of 0 means its default, or without a Name, the parameter of the rule. It must be 0 if
// the algorithm has no such parameter. docs/algorithms.md explains the algorithms.
type Algorithm struct {
	Name string // such as "bcast/binomial"; "": the rules choose
	// Chunks is the number of chunks of a block, whatever Config.Chunk says. The default depends on
	// the length of the block, the algorithm and the transport.
	Chunks int
	Degree int // children or partners of a rank
	FanIn  int // children of a rank where signals are gathered
	FanOut int // children of a rank where signals are released
	// Hosts is the number of blocks of consecutive ranks that share a host, from 1 to the number of
	// ranks. With a Name, 0 means that every rank is its own host. Communicators made by Split and
	// Shrink have the Hosts of their origin only if they have the same ranks in the same order.
	Hosts int
}

// DelayPolicy decides when the root of a broadcast by multicast starts. If no rank listens yet, a
// multicast is lost and has to be repaired.
type DelayPolicy uint8

// These are the policies.
const (
	DelayNone  = DelayPolicy(core.DelayNone)  // the root starts at once
	DelayFixed = DelayPolicy(core.DelayFixed) // the root waits for Config.RootDelay
	// DelayAdaptive makes the root watch one rank, drawn for each operation. It waits until this rank
	// has entered, but at most for a time, which grows when this rank was late for the multicast, and
	// shrinks otherwise. If many of these ranks lose short multicasts of bcast/mcast-chain, the root
	// chooses bcast/mcast-binomial, and all ranks follow it.
	DelayAdaptive = DelayPolicy(core.DelayAdaptive)
	// DelayRandomPeer makes the root wait until one rank, drawn for each operation, has entered.
	DelayRandomPeer = DelayPolicy(core.DelayRandomPeer)
)

// String returns the policy's name.
func (d DelayPolicy) String() string { return core.DelayPolicy(d).String() }

// Waiting configures how callers wait for other ranks.
type Waiting struct {
	// Idle is how long after a call the background takes over. After many calls it is up to fifty
	// times as long, or five times at a rank that has called [Answer]. The default is 200 µs.
	// Negative means never: others then wait until this rank's next call, but at most for Silence.
	Idle time.Duration
	// Linger is how long Close waits while nothing that remains to be sent is taken. The default is
	// 2 s. Negative means not at all.
	Linger time.Duration
	// Spin is how many polls find nothing before the caller is parked. The default takes some tens
	// to hundreds of microseconds. Negative means none.
	Spin int
	// Stay keeps threads on the cores where the system has put them. By default ranks that share a
	// core move apart.
	Stay bool
}

// Observe receives the events of a communicator. Each rank has its own. Communicators made by
// Split, Dup and Shrink inherit it.
type Observe struct {
	// Log gets an event when ranks have joined, when one is lost, when the communicator fails and
	// when it is closed. When a caller has waited for two seconds in a collective or in Wait, and
	// again after 4 s, 8 s and so on, Log gets a warning that names the operation, the ranks that
	// it waits for and why; an event tells the end of such a wait. While ranks meet, Log gets
	// warnings that say what this rank waits for; without a Log these go to the standard error. Its
	// handler may call any method but Close.
	Log *slog.Logger

	// Latency counts how long operations take, by algorithm and length, for metrics. Each operation
	// then reads the clock twice.
	Latency bool

	// Trace is called for every step of operations, by one goroutine at a time. The call comes in
	// the middle of the work: it must be quick and must not call the communicator. Package perfetto
	// writes files of these events.
	Trace func(runtime.Event)
}

// Majority is a value of Config.Quorum. It wants more than half of the ranks.
func Majority(left []int, of int) bool { return runtime.Majority(left, of) }

// below returns the configuration of package runtime.
func (cfg *Config) below() runtime.Config {
	b := runtime.Config{
		Transport: cfg.Transport, Rules: cfg.Rules, Learn: cfg.Learn, Network: cfg.Network, Reproducible: cfg.Reproducible,
		Delay: runtime.DelayPolicy(cfg.Delay), RootDelay: cfg.RootDelay,
		Chunk: cfg.Chunk, MaxBcast: cfg.MaxBcast, Repair: cfg.Repair, Stall: cfg.Stall, Silence: cfg.Silence, Quorum: cfg.Quorum, Retain: cfg.Retain,
		PublishWindow: cfg.PublishWindow, PublishBytes: cfg.PublishBytes, MaxMessage: cfg.MaxMessage,
		JoinTimeout: cfg.JoinTimeout, Epoch: cfg.Epoch, Clock: cfg.Clock,
		Waiting: runtime.Waiting(cfg.Waiting), Observe: runtime.Observe(cfg.Observe),
	}
	for _, s := range cfg.Prepare {
		b.Prepare = append(b.Prepare, runtime.Shape(s))
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
