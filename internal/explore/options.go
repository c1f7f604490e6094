package explore

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
)

// ErrInput is wrapped by errors about invalid options.
var ErrInput = errors.New("explore: invalid option")

// Call is one call that every rank makes.
type Call struct {
	// Schedule is the schedule of a collective. Without a schedule, the call is a rootless message:
	// Origin publishes it and all other ranks take it.
	Schedule *ir.Schedule
	// Otherwise, if not nil, is a schedule that the root chooses in place of Schedule when it begins,
	// under which the other ranks enter: see core.Plan.Otherwise.
	Otherwise *ir.Schedule
	Origin    int
	Overlay   core.Overlay // the trees of rootless messages; the same in all calls
	// Multicast says that rootless messages are multicast, and that acknowledgements climb the trees;
	// the same in all calls.
	Multicast bool
	// Asks, in a call without a schedule, makes Origin ask a question and wait for the answers of
	// all ranks, which are folded as this schedule of the same overlay says. The other ranks do
	// nothing in the call: they answer whenever the question comes. A rank closes when it has learnt
	// the results of all questions.
	Asks *ir.Schedule
	// Flush, in a call without a schedule, makes Origin wait until everything that it has published
	// has arrived everywhere. The other ranks do nothing.
	Flush bool
	// Acked says that the root may return only after every rank has the message.
	Acked bool
	// InPlace says that a rank whose contribution is one block, and whose result is one, passes the
	// same memory for both. NoCopy says that the schedule is proved for that, so that the core copies
	// no contribution: see core.Plan.InPlace.
	InPlace, NoCopy bool
}

// Options configure an exploration.
type Options struct {
	Ranks int    // 1 … MaxRanks
	Calls []Call // made by every rank, one after the other; then the rank closes

	// Odd, if not nil, are the calls that OddRank makes instead of Calls. All other ranks must
	// notice.
	Odd     []Call
	OddRank int

	// Open is the greatest number of calls that a process has open; default 1. The process makes
	// another call before those have returned, and returns from open calls in any order. It takes
	// and publishes rootless messages only while no other call is open.
	Open int

	Losses     int  // most datagrams that are lost; Unbounded: any number
	Duplicates int  // most datagrams that are duplicated
	Early      int  // most alarms that ring while something else can happen; other alarms are free
	Crash      bool // one rank may die at any moment
	Cancel     bool // one process may cancel an operation at any moment; with Crash: one fault of either kind
	Quit       bool // a process closes after a call has failed

	NoMulticast   bool             // the network loses all datagrams
	Windows       Windows          // ranks whose signals of barriers are flags and whose chunks stand in windows
	Pieces        int              // datagrams of a chunk; default 1
	Parts         bool             // a rank folds a chunk piece by piece, and the first piece of a chunk that is put may arrive before the others
	Window        int              // chunks of a multicast that receivers can buffer; 0: any number
	Delay         core.DelayPolicy // when the root of a multicast starts
	PublishWindow int              // rootless messages that one origin may have under way; default 1

	States int  // greatest number of distinct states; default DefaultStates
	Full   bool // leave nothing out, not even the moments of messages that change nothing; see the package comment

	// Progress, if not nil, is called from time to time.
	Progress func(Report)
}

// Windows says which ranks have windows.
type Windows struct {
	Ranks  int  // the first so many: signals of their barriers are flags, and chunks of their broadcasts by puts stand in windows
	Remote bool // they share no memory: a flag takes time to reach its line, no flag serves several ranks, and chunks do not stand in windows
}

// Limits and defaults of an exploration.
const (
	MaxRanks      = 6
	MaxCalls      = 16
	MaxChunks     = 32 // with more, how far a request reaches would depend on durations
	MaxPieces     = 8
	Unbounded     = -1
	DefaultStates = 5_000_000
	maxStates     = 1 << 31
)

func (o *Options) fill() error {
	o.Open = cmp.Or(o.Open, 1)
	o.Pieces = cmp.Or(o.Pieces, 1)
	o.PublishWindow = cmp.Or(o.PublishWindow, 1)
	o.States = cmp.Or(o.States, DefaultStates)
	for _, v := range []struct {
		what      string
		v, lo, hi int
	}{
		{"ranks", o.Ranks, 1, MaxRanks}, {"calls", len(o.Calls), 1, MaxCalls}, {"open calls", o.Open, 1, core.MaxOpen}, {"losses", o.Losses, Unbounded, 200},
		{"duplicates", o.Duplicates, 0, 200}, {"early alarms", o.Early, 0, 200}, {"pieces", o.Pieces, 1, MaxPieces},
		{"window", o.Window, 0, MaxChunks}, {"ranks with windows", o.Windows.Ranks, 0, o.Ranks}, {"messages under way", o.PublishWindow, 1, MaxCalls}, {"states", o.States, 1, maxStates}, {"odd calls", len(o.Odd), 0, MaxCalls}, {"as odd rank", o.OddRank, 0, o.Ranks - 1},
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
	case s == nil && c.Asks != nil && (c.Asks.Ranks != ranks || c.Asks.Root != c.Origin || c.Asks.Row() == nil || c.Asks.Row().Question != 1):
		return fmt.Errorf("%s from %d for %d ranks asks no question of rank %d", c.Asks.Name(), c.Asks.Root, c.Asks.Ranks, c.Origin)
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
