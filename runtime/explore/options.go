package explore

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core"
)

// ErrInput is wrapped by errors about options that make no sense.
var ErrInput = errors.New("explore: invalid option")

// Call is one call that every rank makes.
type Call struct {
	// Schedule is what a broadcast or a barrier runs. Without one the call is a
	// rootless message: Origin publishes it, all others take it.
	Schedule *ir.Schedule
	Origin   int
	Overlay  core.Overlay // the trees of rootless messages; the same in all calls
	// Flush, without a schedule, has Origin wait until what it has published is everywhere; the
	// others do nothing.
	Flush bool
	// Acked says that the root may return only when every rank has the message.
	Acked bool
}

// Options say what is explored.
type Options struct {
	Ranks int    // 1 … MaxRanks
	Calls []Call // made by every rank, one after the other; then it closes

	// Odd, if not nil, are the calls that OddRank makes in place of Calls: all
	// others are to find out.
	Odd     []Call
	OddRank int

	// Open is how many calls a process has open at most, default 1: it makes another
	// one before those have returned, and returns from them in any order. Rootless
	// messages are taken and published while no other call is open.
	Open int

	Losses     int  // datagrams that are lost at most; Unbounded: any number
	Duplicates int  // datagrams that are doubled at most
	Early      int  // alarms that ring at most while something else can happen; else they are free
	Crash      bool // one rank may die at any moment
	Cancel     bool // one process may give up an operation at any moment; with Crash: one fault of either kind
	Quit       bool // a process whose call has failed closes

	NoMulticast bool             // the network loses all datagrams
	Windows     Windows          // signals of barriers that are flags, and chunks that stand in windows
	Pieces      int              // datagrams of a chunk; default 1
	Window      int              // chunks of a multicast that receivers can take in unread; 0: any number
	Delay       core.DelayPolicy // when the root of a multicast starts
	CastWindow  int              // rootless messages of one origin under way; default 1

	States int  // distinct states at most; default DefaultStates
	Full   bool // leave out nothing: every moment of messages that change nothing, too; see the package comment

	// Progress, if not nil, is called now and then.
	Progress func(Report)
}

// Windows says which ranks have windows.
type Windows struct {
	Ranks  int  // the first so many: signals of barriers among them are flags, chunks of broadcasts by puts stand in windows
	Remote bool // and share no memory: a flag takes time to its line, none stands for several ranks, and no chunks do
}

// The limits of an exploration.
const (
	MaxRanks      = 6
	MaxCalls      = 16
	MaxChunks     = 32 // beyond, a request's reach would depend on durations
	MaxPieces     = 8
	Unbounded     = -1
	DefaultStates = 5_000_000
	maxStates     = 1 << 31
)

func (o *Options) fill() error {
	orElse(&o.Open, 1)
	orElse(&o.Pieces, 1)
	orElse(&o.CastWindow, 1)
	orElse(&o.States, DefaultStates)
	for _, v := range []struct {
		what      string
		v, lo, hi int
	}{
		{"ranks", o.Ranks, 1, MaxRanks}, {"calls", len(o.Calls), 1, MaxCalls}, {"open calls", o.Open, 1, core.MaxOpen}, {"losses", o.Losses, Unbounded, 200},
		{"duplicates", o.Duplicates, 0, 200}, {"early alarms", o.Early, 0, 200}, {"pieces", o.Pieces, 1, MaxPieces},
		{"window", o.Window, 0, MaxChunks}, {"ranks with windows", o.Windows.Ranks, 0, o.Ranks}, {"messages under way", o.CastWindow, 1, MaxCalls}, {"states", o.States, 1, maxStates}, {"odd calls", len(o.Odd), 0, MaxCalls}, {"as odd rank", o.OddRank, 0, o.Ranks - 1},
	} {
		if v.v < v.lo || v.v > v.hi {
			return fmt.Errorf("%w: %d %s, must be %d … %d", ErrInput, v.v, v.what, v.lo, v.hi)
		}
	}
	for i, c := range append(o.Calls[:len(o.Calls):len(o.Calls)], o.Odd...) {
		if err := c.check(o.Ranks); err != nil {
			return fmt.Errorf("%w: call %d: %w", ErrInput, i%len(o.Calls)+1, err)
		}
	}
	return nil
}

func (c *Call) check(ranks int) error {
	switch s := c.Schedule; {
	case s == nil && c.Overlay == nil:
		return errors.New("neither a schedule nor an overlay")
	case s == nil && (c.Origin < 0 || c.Origin >= ranks):
		return fmt.Errorf("origin %d outside 0 … %d", c.Origin, ranks-1)
	case s == nil:
		return nil
	case s.Ranks != ranks || len(s.Programs) != ranks:
		return fmt.Errorf("%s is for %d ranks, not %d", s.Name(), s.Ranks, ranks)
	case !s.HasMessage():
		return nil
	case s.Root < 0 || s.Root >= ranks:
		return fmt.Errorf("%s: root %d outside 0 … %d", s.Name(), s.Root, ranks-1)
	case s.Chunks < 1 || s.Chunks > MaxChunks:
		return fmt.Errorf("%s: %d chunks, must be 1 … %d", s.Name(), s.Chunks, MaxChunks)
	}
	return nil
}

func orElse(v *int, other int) {
	if *v == 0 {
		*v = other
	}
}
