package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// Algorithm selects how a collective operation is done: the name of an algorithm of package
// schedule and its parameters. The runtime fills in Ranks, Root and Chunks of Params for each
// operation, except that Chunks > 0 fixes the number of chunks of every block. Without a Name only
// the parameters count: Rules choose the algorithm, and parameters that are not 0 replace those of
// the rule. Rules never replace an algorithm that has a Name.
type Algorithm struct {
	Name   string          // such as "bcast/binomial"; "": the rules choose
	Params schedule.Params // 0: the default, or the rule's parameter
}

// Algorithms selects algorithms by the names of their collectives, such as "bcast", "barrier",
// "anycast" (the messages of Publish) or "allgather".
//
//	Algorithms{"bcast": {Name: "bcast/chain"}, "barrier": {Params: schedule.Params{Hosts: 1}}}
//
// Join fails with ErrInput if there is no such collective, if an algorithm is one of another
// collective, or if one cannot run with its parameters. It copies the map.
type Algorithms map[string]Algorithm

// Shape is what the schedule of an operation depends on, besides the communicator.
type Shape struct {
	Collective string // such as "allreduce"
	Bytes      int    // the length of a block; with Counted, of the longest
	Root       int    // 0 for a collective that has none
	Ordered    bool   // contributions are folded with an operation that does not commute
	Counted    bool   // blocks have lengths of their own
}

// check returns an error if there is no such operation among size ranks.
func (s *Shape) check(row *ir.Collective, size int) error {
	switch {
	case s.Bytes < 0 || row.Blocks == nil && s.Bytes > 0:
		return fmt.Errorf("blocks of %d bytes", s.Bytes)
	case s.Root < 0 || s.Root >= size || !row.Rooted && s.Root > 0:
		return fmt.Errorf("root %d", s.Root)
	case s.Ordered && row.Inputs == nil:
		return errors.New("it folds nothing")
	case s.Counted && !row.TakesCounts():
		return errors.New("it takes no counts")
	}
	return nil
}

// form returns the form of calls of s, without elements and folds, on which no schedule depends.
func (s *Shape) form(row *ir.Collective, size int) form {
	f := form{ordered: s.Ordered, counted: s.Counted}
	f.shared = s.Counted && (row.Inputs != nil || row.Everywhere(size, s.Root))
	return f
}

// check returns an error for the first key, in the order of names, that is no collective or has an
// algorithm of another collective.
func (a Algorithms) check() error {
	for _, collective := range slices.Sorted(maps.Keys(a)) {
		name := a[collective].Name
		if _, ok := ir.CollectiveNamed(collective); !ok {
			return fmt.Errorf("%w: Config.Algorithms: there is no collective %q (its algorithm is %q)", ErrInput, collective, name)
		}
		if of, _, _ := strings.Cut(name, "/"); name != "" && of != collective {
			return fmt.Errorf("%w: Config.Algorithms: %q is no algorithm of %s", ErrInput, name, collective)
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

// Config says how a communicator works. All ranks must use the same values, except that Transport,
// JoinTimeout, Clock, Waiting, Observe and Meanwhile are each rank's own.
//
// A zero field stands for a default. A negative value means none, no limit or never in the fields
// that say so; in other fields it is an error that wraps ErrInput.
type Config struct {
	// Transport is this rank's end of a transport that all ranks have joined. The last communicator
	// on the transport closes it; Join closes it if Join fails. Default: what the launcher's
	// environment says; see Init.
	Transport wire.Transport

	// Algorithms chooses an algorithm or parameters for each collective that it holds. Rules choose
	// the algorithm for the other collectives, and where Algorithms gives only parameters.
	Algorithms Algorithms

	// Rules choose algorithms: selection.Parse reads a file of them. If ranks have different rules,
	// they get ErrMismatch. Default: if Transport is nil and the environment variable
	// SCHEDGEN_RULES names a file, the rules of that file; otherwise the built-in rules. Some of
	// the built-in rules run an algorithm between the masters of hosts and another within each
	// host, if the transport knows hosts with several ranks each, in blocks of consecutive ranks;
	// see wire.Caps.
	Rules *selection.Rules

	// Learn names a file. If it is set, blocking collectives choose their algorithms by the times of
	// calls, and the file gets rules for later runs when rank 0 closes its last communicator;
	// os.DevNull keeps nothing. Default: no file, or without a Transport that of SCHEDGEN_LEARN.
	//
	// The first calls of each collective and class of lengths try a few algorithms: what Rules
	// choose, and at most three others. There are up to 24 such calls, or 96 if they take less than
	// a millisecond. The class of a length is the next power of two. Before the next call, the ranks
	// add up their median and their least times, and take the algorithm with the least sum of
	// medians if both sums are at least 5 % less than those of Rules. After 256 calls, they compare
	// sums again; if calls take 1.5 times as long as before, or less time by the same factor, they
	// try all anew. The calls that are timed, most of the first and four of 256, wait until all
	// ranks have called them and, if there is a root, until they have ended at all ranks.
	// State.Learned shows what was tried.
	//
	// For a fold, algorithms are tried that give the bits that Rules would give, or all if
	// Fold.Exact is set. If blocks have lengths of their own, as in an allgather, the longest one
	// selects the class. Algorithms that Algorithms or Use name are kept, and so is the choice for
	// calls in which not all ranks know all lengths. Start and Prepare take the choice at that
	// moment, and do not count as calls: for each call, all ranks must block, or all must start it.
	// Each communicator learns by itself, also one of Split, Dup and Shrink.
	Learn string

	// MPI says that the caller can have an MPI perform operations in place of the communicator. It
	// asks [Comm.Turn] before each blocking call. It must be the same at all ranks.
	//
	// With Learn, the MPI is one more rival, and the choice until another one takes at least 5 % less.
	// There are then 30 to 50 calls in a trial, and 4,096 calls and more between comparisons of sums.
	// Folds of the MPI may give other bits, so with Reproducible it performs no folds.
	MPI bool

	// Network says how the ranks' hosts are connected: rank r is on node r. Without a Transport the
	// default is the network in the file that SCHEDGEN_NETWORK names, if it is set. Join makes
	// schedules for the network and simulates them, which may take some seconds. The program must
	// import package synth, if only as _. A schedule replaces
	// the algorithm that Rules choose if the simulation says that it is at least 1.2 times faster.
	// Communicators of Dup use these schedules, too. Those of Split and Shrink do not, because they
	// have other ranks.
	Network *network.Network
	// elsewhere is Rules without those of the network: for communicators of other ranks.
	elsewhere *selection.Rules
	// Catalog lists the algorithms of a communicator of New. The first one of a collective runs
	// unless Algorithms names another. It needs anycast and anyreduce for rootless messages and
	// questions, which every communicator can carry; see [schedule.Broadcasts]. Communicators of
	// Join can run all algorithms.
	Catalog []schedule.Algorithm

	source source

	// Reproducible makes collectives that fold give the same bits for any length, number of chunks,
	// position in the vector, transport, placement on hosts and loss: for each collective and
	// number of ranks, contributions are folded along one fixed tree. Rules choose among the
	// algorithms that use this tree. Other algorithms in Algorithms, and other schedules given to
	// Use, are refused. Without Reproducible, too, all ranks get the same bits, and results do not
	// depend on the order of arrival.
	Reproducible bool

	// Prepare names operations whose schedules are compiled when the communicator is made, so that
	// their first call takes no longer than later ones. Ranks need not name the same. A wrong one is
	// ErrInput. Communicators of Dup compile them, too. Those of Split and Shrink do not, because
	// they have other ranks. See also [Comm.Prepare].
	Prepare []Shape

	Delay     DelayPolicy   // when the root of a multicast broadcast starts; default DelayNone
	RootDelay time.Duration // the duration of DelayFixed; default 0

	Chunk    int // greatest length of a chunk in bytes, as long as 1024 chunks suffice; 0: by algorithm and transport, mostly 32 KiB or one datagram, whichever is less
	MaxBcast int // greatest message of BcastBytes, and value of GatherBytes and its siblings, in bytes; default 1 GiB; negative: no limit

	Repair time.Duration // base timeout of repairs; default 20 ms

	// Stall is how long an operation stands still before it asks its neighbour whether both have
	// called the same operation. Default 250 ms. Negative: it never asks. Ranks that call different
	// operations may then hang. The other ranks may also hang if one rank alone is refused a call.
	Stall time.Duration

	// Silence is how long a rank may give no sign of life while another rank waits for it. After
	// that the rank is lost (ErrPeerLost), even if its connections stand. Default 30 s. Negative:
	// no limit.
	Silence time.Duration

	// Quorum says which ranks may go on when others are gone: Shrink fails with ErrQuorum if it
	// returns false. Default: any. left are the ranks that remain, ascending, and of is the number
	// of all ranks. Both count the ranks of the communicator that Join, New or Split has made, not
	// those of the one that shrinks: when 5 ranks have become 3 and one more is lost, left has 2
	// of 5. So with [Majority] at most one part of a cut network goes on, however often it is cut.
	// Ranks that have closed the communicator are gone, too. Dup keeps the count, and Split begins
	// another one. Quorum must decide alike at all ranks, by its arguments alone, and must not call
	// the communicator.
	Quorum func(left []int, of int) bool

	// Retain is how many bytes of past operations are kept, in all, to answer requests after the
	// call has returned. One operation keeps at most an eighth of them, and a longer message is not
	// kept. Default 8 MiB. Negative: none; a rank that has lost a multicast then waits for a
	// repair.
	Retain int

	PublishWindow int // rootless messages of one origin that may be under way at once; default 64
	PublishBytes  int // bytes of one origin's rootless messages that may be under way before Publish waits; default 256 KiB
	MaxMessage    int // greatest rootless message in bytes; default 1 MiB

	// JoinTimeout is how long the ranks that a launcher has started may take to meet. Default: the
	// value of SCHEDGEN_JOIN_TIMEOUT, such as 90s or none, or DefaultJoinTimeout if that is not
	// set. Negative: no limit except the context's. It has no effect if Transport is set, since its
	// ranks have met.
	JoinTimeout time.Duration

	Epoch uint32      // version of the membership, on which ranks must agree (ErrMismatch); default 1
	Clock clock.Clock // also the clock of a transport that the environment chooses; default clock.System

	Waiting Waiting // how callers wait
	Observe Observe // observers of this rank; default none

	// Meanwhile, if it is not nil, is called by callers that wait, on their own threads: now and
	// then between polls, and about every millisecond while nothing arrives. The background does
	// not call it. It must not call the communicator. A library with messages of its own moves
	// those messages here: other ranks may need them before they can enter this operation. With
	// Meanwhile set, callers wait as if all other ranks were in other processes, however many
	// communicators this process has joined.
	Meanwhile func()
}

// Waiting says how callers wait for other ranks.
type Waiting struct {
	// Idle is how long after a call the background takes over; after many calls in a row it may be
	// up to fifty times as long, or five times at a rank that answers questions. Default 200 µs.
	// Negative: never; other ranks then wait until this rank's next call, at most for Silence.
	Idle time.Duration

	// Linger is how long Close waits while the system takes none of the frames that remain. Default
	// 2 s. Negative: Close does not wait, and frames that the system has not taken are lost.
	Linger time.Duration

	// Spin is how many polls may find nothing before the caller is parked. Default: some tens to
	// hundreds of microseconds' worth. Negative: none.
	Spin int

	// Stay leaves the threads of callers on the cores where the system has put them. Otherwise a
	// rank times its yields while it waits; if it finds that it shares a core with another rank, it
	// moves its thread to another core. It sets the affinity and resets it at once, so the thread
	// stays unbound. The system alone may take tens of milliseconds to part two busy ranks. When
	// parted, a barrier of two ranks takes 0.3 µs over shared memory instead of 4, and 7.6 over TCP
	// instead of 28; a barrier of 8 ranks on two cores takes 8.5 instead of 20. Programs that bind
	// their threads themselves gain nothing. If several ranks are goroutines of one process, no
	// thread is moved.
	Stay bool
}

const (
	maxPlans = 1 << 22 // greatest number of rules and actions in the compiled programs that a communicator keeps
)

// check returns the error of the first field that is out of range, or of a context that is nil.
func (cfg *Config) check(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("%w: the context is nil", ErrInput)
	}
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
		{"PublishWindow", int64(cfg.PublishWindow), false},
		{"PublishBytes", int64(cfg.PublishBytes), false},
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

// fill puts the defaults in. It replaces a negative value by 0, except that a negative MaxBcast
// becomes the greatest int and a negative Waiting.Idle stays negative.
func (cfg *Config) fill() {
	cfg.Algorithms, cfg.Prepare = maps.Clone(cfg.Algorithms), slices.Clone(cfg.Prepare) // the caller may change its own later
	cfg.MaxBcast = cmp.Or(cfg.MaxBcast, 1<<30)
	cfg.Repair = cmp.Or(cfg.Repair, 20*time.Millisecond)
	cfg.Stall = cmp.Or(cfg.Stall, 250*time.Millisecond)
	cfg.Silence = cmp.Or(cfg.Silence, 30*time.Second)
	cfg.Retain = cmp.Or(cfg.Retain, 8<<20)
	cfg.PublishWindow = cmp.Or(cfg.PublishWindow, 64)
	cfg.PublishBytes = cmp.Or(cfg.PublishBytes, 256<<10)
	cfg.MaxMessage = cmp.Or(cfg.MaxMessage, 1<<20)
	cfg.Epoch = cmp.Or(cfg.Epoch, 1)
	cfg.Waiting.Spin = cmp.Or(cfg.Waiting.Spin, spin(cfg.Transport.Caps(), goruntime.NumCPU()))
	cfg.Waiting.Idle = cmp.Or(cfg.Waiting.Idle, 200*time.Microsecond)
	cfg.Waiting.Linger = cmp.Or(cfg.Waiting.Linger, 2*time.Second)
	if cfg.Clock == nil {
		cfg.Clock = clock.System{}
	}
	if cfg.MaxBcast < 0 {
		cfg.MaxBcast = math.MaxInt
	}
	cfg.Stall, cfg.Silence, cfg.Waiting.Linger = max(cfg.Stall, 0), max(cfg.Silence, 0), max(cfg.Waiting.Linger, 0)
	cfg.Retain, cfg.Waiting.Spin = max(cfg.Retain, 0), max(cfg.Waiting.Spin, 0)
}

// spin returns how many polls without result a caller makes before it parks. With more ranks than
// cores, each such poll hands the core over. That is cheaper than to sleep and be woken, since an
// idle core takes long to wake up. But polling must end if the other ranks have long work to do.
func spin(caps wire.Caps, cores int) int {
	if caps.Local > 0 && caps.Local <= cores {
		return 500
	}
	return 200
}
