package runtime

import (
	"fmt"
	goruntime "runtime"
	"time"

	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// Algorithm selects how a collective operation is done: the name of an
// algorithm of package schedule and its parameters. Ranks, Root and Chunks of
// Params are filled in for each operation, except that Chunks > 0 fixes the
// number of chunks of every broadcast.
type Algorithm struct {
	Name   string
	Params schedule.Params
}

// Config says how a communicator works. All ranks must be given the same
// values; only Transport differs. The zero value of every field but Transport
// stands for a default.
type Config struct {
	Transport wire.Transport // connected to all ranks; the communicator closes it

	// Without a Name, the algorithm is what package schedule/choice says. Most
	// defaults run between the masters of hosts and below them within each host, if
	// the transport knows hosts with several ranks in the blocks that this takes; see
	// wire.Caps.
	Bcast   Algorithm
	Barrier Algorithm
	Anycast Algorithm

	Delay     DelayPolicy   // when the root of a multicast broadcast starts; default DelayNone
	RootDelay time.Duration // the duration of DelayFixed

	Chunk  int           // bytes of a chunk at most, as far as 1024 chunks suffice; default 32 KiB or one datagram, whichever is less
	Repair time.Duration // base timeout of repairs; default 20 ms
	Stall  time.Duration // an operation that has not moved for so long asks its neighbour whether they mean the same; default 250 ms
	Retain int           // bytes kept, over all past operations, to answer requests after the call has returned; default 8 MiB

	CastWindow int // rootless messages of one origin under way; default 64
	CastBytes  int // bytes of one origin's rootless messages under way before Publish waits; default 256 KiB
	MaxMessage int // bytes of a rootless message at most; default 1 MiB

	Epoch uint32        // version of the membership; default 1
	Spin  int           // polls that find nothing before the caller is parked, < 0: none; default: some tens to hundreds of microseconds' worth
	Idle  time.Duration // how long after a call the background takes over, or up to fifty times as long after many calls; default 200 µs
	Clock Clock         // default SystemClock

	// Stay has the threads of callers stay on the cores where the system has them.
	// Otherwise a rank that finds, by timing its yields, that it shares a core with
	// another rank while it waits moves its thread to another core: the affinity is
	// set and set back at once, so that nothing stays bound. The system may take
	// tens of milliseconds to part two busy ranks. A barrier of two ranks takes 0.3 µs
	// over shared memory in place of 4, and 7.6 over TCP in place of 28, when they
	// are apart; one of 8 ranks on two cores 8.5 in place of 20. Programs that bind
	// their threads themselves have nothing of it.
	Stay bool
}

// The fixed limits of a communicator.
const (
	maxPlans = 1 << 22 // rules and actions of the compiled programs that are kept
)

func (cfg *Config) fill() error {
	if cfg.Transport == nil {
		return fmt.Errorf("%w: Config.Transport is nil", ErrInput)
	}
	for name, v := range map[string]int64{
		"RootDelay": int64(cfg.RootDelay), "Chunk": int64(cfg.Chunk), "Repair": int64(cfg.Repair), "Stall": int64(cfg.Stall),
		"CastWindow": int64(cfg.CastWindow), "CastBytes": int64(cfg.CastBytes), "MaxMessage": int64(cfg.MaxMessage), "Idle": int64(cfg.Idle),
	} {
		if v < 0 {
			return fmt.Errorf("%w: Config.%s is negative: %d", ErrInput, name, v)
		}
	}
	orElse(&cfg.Repair, 20*time.Millisecond)
	orElse(&cfg.Stall, 250*time.Millisecond)
	orElse(&cfg.Retain, 8<<20)
	orElse(&cfg.CastWindow, 64)
	orElse(&cfg.CastBytes, 256<<10)
	orElse(&cfg.MaxMessage, 1<<20)
	orElse(&cfg.Epoch, 1)
	orElse(&cfg.Spin, spin(cfg.Transport.Caps(), goruntime.NumCPU()))
	orElse(&cfg.Idle, 200*time.Microsecond)
	if cfg.Clock == nil {
		cfg.Clock = SystemClock{}
	}
	return validDelay(cfg.Delay)
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
