package runtime

import (
	"fmt"
	"maps"
	"math"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// Algorithm selects how a collective operation is done: the name of an
// algorithm of package schedule and its parameters. Ranks, Root and Chunks of
// Params are filled in for each operation, except that Chunks > 0 fixes the
// number of chunks of every block. Without a Name only the parameters count: Rules
// choose the algorithm, and the parameters that are not 0 replace those of the rule. An
// algorithm that is named is never changed.
type Algorithm struct {
	Name   string
	Params schedule.Params
}

// Algorithms selects algorithms by the names of their collectives, such as "bcast", "barrier",
// "anycast" (the messages of Publish) or "allgather".
//
//	Algorithms{"bcast": {Name: "bcast/chain"}, "barrier": {Params: schedule.Params{Hosts: 1}}}
//
// Join fails with ErrInput if there is no such collective, if an algorithm is one of another
// collective, or if one cannot run with its parameters. It copies the map.
type Algorithms map[string]Algorithm

// check returns the error of the first key, in the order of names, that is no collective or has an
// algorithm of another one.
func (a Algorithms) check() error {
	for _, collective := range slices.Sorted(maps.Keys(a)) {
		name := a[collective].Name
		if _, ok := ir.CollectiveNamed(collective); !ok {
			return fmt.Errorf("%w: Config.Algorithms: %q, for which it has algorithm %q, is no collective", ErrInput, collective, name)
		}
		if of, _, _ := strings.Cut(name, "/"); name != "" && of != collective {
			return fmt.Errorf("%w: Config.Algorithms: %s has algorithm %q, which is none of %[2]s", ErrInput, collective, name)
		}
	}
	return nil
}

// withoutHosts returns the same algorithms without a number of hosts.
func (a Algorithms) withoutHosts() Algorithms {
	flat := maps.Clone(a)
	for collective, alg := range flat {
		alg.Params.Hosts = 0
		flat[collective] = alg
	}
	return flat
}

// Config says how a communicator works. All ranks must be given the same
// values; Transport, Waiting, Clock and Observe are each rank's own.
//
// The zero value of every field stands for a default. A negative value stands for
// none, no limit or never, in the fields that say so; in the others it is an
// error that wraps ErrInput.
type Config struct {
	// Transport is connected to all ranks. It is closed with the last communicator on it,
	// and if Join fails. Default: what the launcher's environment says; see Init.
	Transport wire.Transport

	// Algorithms chooses for the collectives that it has. Rules choose for the others, and where
	// it has parameters only.
	Algorithms Algorithms

	// Rules choose algorithms: selection.Parse reads a file of them. Ranks that have
	// different ones get ErrMismatch. Default: without a Transport those of the file
	// that the environment names in SCHEDGEN_RULES, else the built-in ones. Some of the
	// built-in rules run an algorithm between the masters of hosts and below them within each
	// host, if the transport knows hosts with several ranks in the blocks that this takes; see
	// wire.Caps.
	Rules *selection.Rules

	// Reproducible has collectives that fold give the same bits whatever the length, the chunks, the
	// place in the vector, the transport, the hosts and what is lost: for a number of ranks and a
	// collective there is one tree by which contributions are folded. Rules choose among the algorithms
	// that fold by it. One of Algorithms, or a schedule given to Use, that folds by another is refused. Without
	// it, too, all ranks get the same bits, and results do not depend on what arrives first.
	Reproducible bool

	Delay     DelayPolicy   // when the root of a multicast broadcast starts; default DelayNone
	RootDelay time.Duration // the duration of DelayFixed; default 0

	Chunk    int           // bytes of a chunk at most, as far as 1024 chunks suffice; default 32 KiB or one datagram, whichever is less
	MaxBcast int           // bytes that BcastBytes takes at most; default 1 GiB; negative: no limit
	Repair   time.Duration // base timeout of repairs; default 20 ms
	Stall    time.Duration // an operation that has not moved for so long asks its neighbour whether they mean the same; default 250 ms; negative: never, ranks that call different operations may then hang, as they may if one rank alone is refused a call
	Silence  time.Duration // a rank that gives no sign of life for so long while another one waits is lost (ErrPeerLost), though no connection says so; default 30 s; negative: never
	Retain   int           // bytes kept, over all past operations, to answer requests after the call has returned; default 8 MiB; negative: none, who has lost a multicast then waits for a repair

	CastWindow int // rootless messages of one origin under way; default 64
	CastBytes  int // bytes of one origin's rootless messages under way before Publish waits; default 256 KiB
	MaxMessage int // bytes of a rootless message at most; default 1 MiB

	// JoinTimeout is how long the ranks that a launcher has started may take to meet; default what
	// SCHEDGEN_JOIN_TIMEOUT says, such as 90s or none, else DefaultJoinTimeout; negative: no limit but the
	// context's. It has no meaning with a Transport, whose ranks have met.
	JoinTimeout time.Duration

	Epoch uint32      // version of the membership, on which ranks must agree (ErrMismatch); default 1
	Clock clock.Clock // also of the transport that the environment says; default clock.System

	Waiting Waiting // how callers wait
	Observe Observe // who is told of what happens; default nobody

	// Meanwhile, if it is not nil, is called by callers that wait, on their own threads: now and then between
	// polls, and at least about every millisecond while nothing comes. The background does not call it. It
	// must not call the communicator. A library with messages of its own moves them there: their
	// receivers may be what keeps other ranks from this operation. Callers are then taken to be threads
	// that wait for other processes alone, however many communicators this process has joined.
	Meanwhile func()
}

// Waiting says how callers wait for what others do.
type Waiting struct {
	Idle time.Duration // how long after a call the background takes over, or up to fifty times as long after many calls; default 200 µs; negative: never, others then wait until this rank's next call, for no longer than Silence

	Linger time.Duration // how long Close waits while nothing of what is still to be sent is taken; default 2 s; negative: not at all, what the system has not taken by then is lost

	Spin int // polls that find nothing before the caller is parked; default: some tens to hundreds of microseconds' worth; negative: none

	// Stay has the threads of callers stay on the cores where the system has them.
	// Otherwise a rank that finds, by timing its yields, that it shares a core with
	// another rank while it waits moves its thread to another core: the affinity is
	// set and set back at once, so that nothing stays bound. The system may take
	// tens of milliseconds to part two busy ranks. A barrier of two ranks takes 0.3 µs
	// over shared memory in place of 4, and 7.6 over TCP in place of 28, when they
	// are apart; one of 8 ranks on two cores 8.5 in place of 20. Programs that bind
	// their threads themselves have nothing of it. Where several ranks are goroutines of
	// one process no thread is moved.
	Stay bool
}

// The fixed limits of a communicator.
const (
	maxPlans = 1 << 22 // rules and actions of the compiled programs that are kept
)

// check returns the error of the first field that is out of range.
func (cfg *Config) check() error {
	for _, f := range [...]struct {
		name  string
		value int64
		none  bool // a negative value has a meaning
	}{
		{"RootDelay", int64(cfg.RootDelay), false},
		{"Chunk", int64(cfg.Chunk), false},
		{"MaxBcast", int64(cfg.MaxBcast), true},
		{"Repair", int64(cfg.Repair), false},
		{"Stall", int64(cfg.Stall), true},
		{"Silence", int64(cfg.Silence), true},
		{"Retain", int64(cfg.Retain), true},
		{"CastWindow", int64(cfg.CastWindow), false},
		{"CastBytes", int64(cfg.CastBytes), false},
		{"MaxMessage", int64(cfg.MaxMessage), false},
		{"JoinTimeout", int64(cfg.JoinTimeout), true},
		{"Waiting.Spin", int64(cfg.Waiting.Spin), true},
		{"Waiting.Idle", int64(cfg.Waiting.Idle), true},
		{"Waiting.Linger", int64(cfg.Waiting.Linger), true},
	} {
		if f.value < 0 && !f.none {
			return fmt.Errorf("%w: Config.%s is negative: %d", ErrInput, f.name, f.value)
		}
	}
	if cfg.MaxMessage > wire.MaxBody {
		return fmt.Errorf("%w: Config.MaxMessage is %d, at most %d", ErrInput, cfg.MaxMessage, wire.MaxBody)
	}
	if !cfg.Delay.Valid() {
		return fmt.Errorf("%w: Config.Delay: %v", ErrInput, cfg.Delay)
	}
	return cfg.Algorithms.check()
}

// fill puts the defaults in, and for none what does nothing: 0, but for MaxBcast,
// which is a limit, and Waiting.Idle, which stays negative.
func (cfg *Config) fill() {
	cfg.Algorithms = maps.Clone(cfg.Algorithms) // the caller may change it
	orElse(&cfg.MaxBcast, 1<<30)
	orElse(&cfg.Repair, 20*time.Millisecond)
	orElse(&cfg.Stall, 250*time.Millisecond)
	orElse(&cfg.Silence, 30*time.Second)
	orElse(&cfg.Retain, 8<<20)
	orElse(&cfg.CastWindow, 64)
	orElse(&cfg.CastBytes, 256<<10)
	orElse(&cfg.MaxMessage, 1<<20)
	orElse(&cfg.Epoch, 1)
	orElse(&cfg.Waiting.Spin, spin(cfg.Transport.Caps(), goruntime.NumCPU()))
	orElse(&cfg.Waiting.Idle, 200*time.Microsecond)
	orElse(&cfg.Waiting.Linger, 2*time.Second)
	if cfg.Clock == nil {
		cfg.Clock = clock.System{}
	}
	if cfg.MaxBcast < 0 {
		cfg.MaxBcast = math.MaxInt
	}
	cfg.Stall, cfg.Silence, cfg.Waiting.Linger = max(cfg.Stall, 0), max(cfg.Silence, 0), max(cfg.Waiting.Linger, 0)
	cfg.Retain, cfg.Waiting.Spin = max(cfg.Retain, 0), max(cfg.Waiting.Spin, 0)
}

// spin returns how many polls in vain are worth it. With more ranks than cores,
// each poll in vain hands the core over: that is cheaper than to sleep and be
// woken, since a core that falls idle takes long to wake up, but it must end if
// the others have long work to do.
func spin(caps wire.Caps, cores int) int {
	if caps.Local > 0 && caps.Local <= cores {
		return 500
	}
	return 200
}

func orElse[T comparable](v *T, other T) {
	var zero T
	if *v == zero {
		*v = other
	}
}
