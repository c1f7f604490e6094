package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/explore"
	"github.com/schedgen/schedgen/schedule"
)

// exploreCmd is the verb explore.
type exploreCmd struct {
	sourceArgs
	Operations int      `default:"1" placeholder:"N" help:"Calls of it by every rank, one after the other."`
	Then       []string `placeholder:"ALGORITHM" help:"Call this afterwards, once; may be given more than once."`
	Open       int      `default:"1" placeholder:"N" help:"Calls that a rank has open at once at most, returning from them in any order."`
	Rotate     bool     `help:"Every operation has the next root."`

	Losses      fault `default:"any" placeholder:"N" help:"Datagrams that are lost at most, or any."`
	Duplicates  int   `default:"0" placeholder:"N" help:"Datagrams that are doubled at most."`
	Early       int   `default:"1" placeholder:"N" help:"Timers that ring at most while something else can still happen."`
	Crash       bool  `help:"One rank may die at any moment."`
	Cancel      bool  `help:"One process may give an operation up at any moment."`
	Quit        bool  `help:"A process whose call has failed closes."`
	NoMulticast bool  `help:"The network loses all datagrams."`
	Windows     int   `default:"0" placeholder:"N" help:"The first N ranks share memory: signals of barriers among them are flags, and chunks that are put stand in windows."`
	Remote      bool  `help:"The memory of --windows is written by network adapters: flags take time."`

	Pieces int    `default:"1" placeholder:"N" help:"Datagrams of a chunk."`
	Window int    `default:"0" placeholder:"N" help:"Chunks that receivers can take in unread, 0: any number."`
	Delay  string `default:"none" placeholder:"POLICY" help:"When the root starts to multicast: none, fixed, adaptive or random-peer."`

	States int  `default:"5000000" placeholder:"MAX" help:"Distinct states at most."`
	Full   bool `help:"Leave out nothing: try every moment of messages that change nothing, too. The result is the same."`
	JSON   bool `name:"json" help:"Print an object."`
}

// fault is a number of faults, or any.
type fault int

// UnmarshalText reads "3" or "any".
func (f *fault) UnmarshalText(text []byte) error {
	if string(text) == "any" {
		*f = explore.Unbounded
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 {
		return fmt.Errorf("%q is no number of faults: must be N, at least 0, or any", text)
	}
	*f = fault(n)
	return nil
}

func (f fault) String() string {
	if f == explore.Unbounded {
		return "any number of"
	}
	return strconv.Itoa(int(f))
}

// Help is the long help text.
func (exploreCmd) Help() string {
	return fmt.Sprintf(`Steps what a communicator decides, the code that runs, through every order of events among
at most %d ranks: every delivery, loss and duplicate, every timer and, with --crash, one death
anywhere. Timers ring in any order, whatever they are set to.

Checked is that no call waits for ever once the network delivers again, none returns too
early or with a wrong byte, no rank fails while all are well, and that after a death every
error names who has died. What is wrong is told by the shortest story, and the exit code is 1.

If there are more states than --states, the search stops there and says "not all states"; the
exit code is 0 if nothing was wrong among those.

Example:

  schedgen explore bcast/mcast-acktree -p 3 --chunks 2 --early 0
  schedgen explore barrier/hsb -p 3 --operations 2 --crash
  schedgen explore bcast/mcast-acktree -p 3 --then bcast/chain --open 2`, explore.MaxRanks)
}

// Run explores what the arguments name and prints what there is.
func (c *exploreCmd) Run(ctx context.Context, std stdio) error {
	calls, h, err := c.calls(ctx, std)
	if err != nil {
		return err
	}
	o, err := c.options(h.Ranks, calls)
	if err != nil {
		return err
	}
	bar := newSpinner(std)
	o.Progress = func(r explore.Report) {
		bar.describe(fmt.Sprintf("exploring: %d states, depth %d", r.States, r.Depth))
	}
	r, err := explore.Run(ctx, o)
	bar.clear()
	if err != nil {
		return err
	}
	out := ctxWriter{ctx, std.Out}
	if c.JSON {
		err = writeJSON(out, exploredObject(h, len(calls), &r), "")
	} else {
		err = c.print(out, h, len(calls), &r)
	}
	if err == nil && r.Violation != nil {
		return &noError{"something is wrong"}
	}
	return err
}

func (c *exploreCmd) options(ranks int, calls []explore.Call) (explore.Options, error) {
	var delay core.DelayPolicy
	switch {
	case delay.UnmarshalText([]byte(c.Delay)) != nil:
		return explore.Options{}, fmt.Errorf("--delay=%s: must be one of none, fixed, adaptive, random-peer", c.Delay)
	case c.States < 1:
		return explore.Options{}, fmt.Errorf("--states=%d: must be at least 1", c.States)
	case c.Open < 1:
		return explore.Options{}, fmt.Errorf("--open=%d: must be at least 1", c.Open)
	case c.Remote && c.Windows == 0:
		return explore.Options{}, errors.New("--remote: only with --windows")
	case c.Pieces < 1:
		return explore.Options{}, fmt.Errorf("--pieces=%d: must be at least 1", c.Pieces)
	}
	return explore.Options{
		Ranks: ranks, Calls: calls, Open: c.Open,
		Losses: int(c.Losses), Duplicates: c.Duplicates, Early: c.Early,
		Crash: c.Crash, Cancel: c.Cancel, Quit: c.Quit, NoMulticast: c.NoMulticast, Windows: explore.Windows{Ranks: c.Windows, Remote: c.Remote},
		Pieces: c.Pieces, Window: c.Window, Delay: delay, States: c.States, Full: c.Full,
	}, nil
}

// calls returns what the ranks call, and the header of the first.
func (c *exploreCmd) calls(ctx context.Context, std stdio) ([]explore.Call, *ir.Header, error) {
	if c.Operations < 1 || c.Operations > explore.MaxCalls {
		return nil, nil, fmt.Errorf("--operations=%d: must be in 1..%d", c.Operations, explore.MaxCalls)
	}
	if c.Ranks != nil && c.Ranks.hi > explore.MaxRanks {
		return nil, nil, fmt.Errorf("--ranks=%d: at most %d are explored", c.Ranks.hi, explore.MaxRanks)
	}
	var first explore.Call
	var h ir.Header
	if c.isFile() {
		s, err := c.load(ctx, std)
		if err != nil {
			return nil, nil, err
		}
		if c.Rotate {
			return nil, nil, fmt.Errorf("--rotate: %s has its own root", c.Source)
		}
		first, h = explore.Call{Schedule: s, Acked: acknowledges(s.Name())}, s.Header
	} else {
		spec, err := c.spec()
		if err != nil {
			return nil, nil, err
		}
		first, h = callOf(spec), spec.Header()
	}
	all := []explore.Call{first}
	for k := 1; k < c.Operations; k++ {
		next, err := c.next(first, k)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, next)
	}
	for _, name := range c.Then {
		spec, err := newSpec(name, schedule.Params{Ranks: h.Ranks})
		if err != nil {
			return nil, nil, fmt.Errorf("--then: %w", err)
		}
		all = append(all, callOf(spec))
	}
	return all, &h, nil
}

// spec returns the algorithm that the arguments name.
func (c *exploreCmd) spec() (*schedule.Spec, error) {
	p, err := c.params(c.Source)
	if err != nil {
		return nil, err
	}
	if c.Ranks == nil {
		return nil, fmt.Errorf("--ranks: needed for %s, such as -p 3", c.Source)
	}
	if p.Ranks, err = c.Ranks.one(); err != nil {
		return nil, errors.New("--ranks: explore takes one number, such as -p 3")
	}
	return newSpec(c.Source, p)
}

// next returns operation k, from 0, of those that begin with first.
func (c *exploreCmd) next(first explore.Call, k int) (explore.Call, error) {
	if !c.Rotate {
		return first, nil
	}
	spec, err := c.spec()
	if err != nil {
		return first, err
	}
	p := spec.Params()
	alg := spec.Algorithm()
	if !takes(&alg, "root") {
		return first, fmt.Errorf("--rotate: %s has no root", c.Source)
	}
	p.Root = (p.Root + k) % p.Ranks
	turned, err := newSpec(c.Source, p)
	if err != nil {
		return first, err
	}
	return callOf(turned), nil
}

func callOf(spec *schedule.Spec) explore.Call {
	alg := spec.Algorithm()
	if o := spec.Overlay(); o != nil {
		return explore.Call{Origin: spec.Params().Root, Overlay: o}
	}
	return explore.Call{Schedule: spec.Schedule(), Acked: alg.Acknowledged()}
}

// acknowledges reports whether the algorithm of that name promises its root that
// all ranks have the message.
func acknowledges(name string) bool {
	for _, a := range schedule.Algorithms() {
		if a.Name == name {
			return a.Acknowledged()
		}
	}
	return false
}
