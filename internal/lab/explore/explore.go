// Package explore is the verb explore of schedlab.
package explore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/internal/explore"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// Verb tries every order of events on a few ranks.
type Verb struct {
	source.Args
	Operations int      `default:"1" placeholder:"N" help:"Number of times that each rank calls the operation, one after the other."`
	Then       []string `placeholder:"ALGORITHM" help:"Call this algorithm once afterwards; may be given more than once."`
	Open       int      `default:"1" placeholder:"N" help:"Most calls that a rank has open at once; it returns from them in any order."`
	Rotate     bool     `help:"Give each operation the next root."`

	Losses      fault `default:"any" placeholder:"N" help:"Most datagrams that are lost; default any."`
	Duplicates  int   `default:"0" placeholder:"N" help:"Most datagrams that are duplicated."`
	Early       int   `default:"1" placeholder:"N" help:"Most timers that ring while something else can still happen."`
	Crash       bool  `help:"Let one rank die at any moment."`
	Cancel      bool  `help:"Let one process cancel an operation at any moment."`
	Quit        bool  `help:"Let a process close its communicator after a call has failed."`
	NoMulticast bool  `help:"Lose all datagrams."`
	Windows     int   `default:"0" placeholder:"N" help:"Let the first N ranks share memory: signals of barriers among them are flags, and puts of chunks go through windows."`
	Remote      bool  `help:"Let network adapters write the memory of --windows: flags take time."`

	Pieces  int    `default:"1" placeholder:"N" help:"Number of datagrams of a chunk."`
	Parts   bool   `help:"Let a rank fold a chunk piece by piece, and the first piece of a put chunk arrive before the others. Needs --pieces."`
	InPlace bool   `help:"Let each rank write its result over its contribution. Ranks copy the contribution unless verify proves in-place."`
	Window  int    `default:"0" placeholder:"N" help:"Number of unread chunks that a receiver can hold; 0: any number."`
	Delay   string `default:"none" placeholder:"POLICY" help:"When the root starts to multicast: none, fixed, adaptive or random-peer."`

	States int  `default:"5000000" placeholder:"MAX" help:"Most distinct states to visit."`
	Full   bool `help:"Also try every moment of messages that change nothing. The result is the same."`
	JSON   bool `name:"json" help:"Print one object."`
}

// fault is the largest number of faults; explore.Unbounded means any number.
type fault int

// UnmarshalText reads "3" or "any".
func (f *fault) UnmarshalText(text []byte) error {
	if string(text) == "any" {
		*f = explore.Unbounded
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a number of faults: it must be at least 0, or any", text)
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
func (Verb) Help() string {
	return fmt.Sprintf(`Runs the code by which a communicator makes its decisions through every order of events among at
most %d ranks: every delivery, loss and duplicate, every timer and, with --crash, one death
anywhere. Timers ring in any order, whatever times they are set to.

It checks that no call waits for ever once the network delivers again, that no call returns too
early or with a wrong byte, that no rank fails while all are well, and that after a death every
error names the rank that died. If a check fails, it prints the shortest sequence of events that
leads there, and the exit code is 1.

If there are more states than --states, the search stops there and prints "not all states". The
exit code is then 0 if no check failed in the visited states.

Examples:

  schedlab explore bcast/mcast-acktree -p 3 --chunks 2 --early 0
  schedlab explore barrier/hsb -p 3 --operations 2 --crash
  schedlab explore bcast/mcast-acktree -p 3 --then bcast/chain --open 2`, explore.MaxRanks)
}

// Run explores the calls that the arguments name and prints the result.
func (c *Verb) Run(ctx context.Context, std terminal.Stdio) error {
	calls, h, err := c.calls(ctx, std)
	if err != nil {
		return err
	}
	o, err := c.options(h.Ranks, calls)
	if err != nil {
		return err
	}
	bar := terminal.NewSpinner(std, "exploring")
	o.Progress = func(r explore.Report) {
		bar.Describe(fmt.Sprintf("exploring: %d states, depth %d", r.States, r.Depth))
	}
	r, err := explore.Run(ctx, o)
	bar.Clear()
	if err != nil {
		return err
	}
	out := terminal.NewWriter(ctx, std.Out)
	if c.JSON {
		err = terminal.WriteJSON(out, exploredObject(h, len(calls), &r), "")
	} else {
		err = c.print(out, h, len(calls), &r)
	}
	if err == nil && r.Violation != nil {
		return terminal.Negative("a check has failed")
	}
	return err
}

func (c *Verb) options(ranks int, calls []explore.Call) (explore.Options, error) {
	var delay core.DelayPolicy
	switch {
	case delay.UnmarshalText([]byte(c.Delay)) != nil:
		return explore.Options{}, fmt.Errorf("--delay=%s: must be one of none, fixed, adaptive, random-peer", c.Delay)
	case c.States < 1:
		return explore.Options{}, fmt.Errorf("--states=%d: must be at least 1", c.States)
	case c.Open < 1:
		return explore.Options{}, fmt.Errorf("--open=%d: must be at least 1", c.Open)
	case c.Remote && c.Windows == 0:
		return explore.Options{}, errors.New("--remote: needs --windows")
	case c.Pieces < 1:
		return explore.Options{}, fmt.Errorf("--pieces=%d: must be at least 1", c.Pieces)
	case c.Parts && c.Pieces == 1:
		return explore.Options{}, errors.New("--parts: needs --pieces of at least 2")
	}
	return explore.Options{
		Ranks: ranks, Calls: calls, Open: c.Open,
		Losses: int(c.Losses), Duplicates: c.Duplicates, Early: c.Early,
		Crash: c.Crash, Cancel: c.Cancel, Quit: c.Quit, NoMulticast: c.NoMulticast, Windows: explore.Windows{Ranks: c.Windows, Remote: c.Remote},
		Pieces: c.Pieces, Parts: c.Parts, Window: c.Window, Delay: delay, States: c.States, Full: c.Full,
	}, nil
}

// calls returns the calls of each rank, in order, and the header of the first.
func (c *Verb) calls(ctx context.Context, std terminal.Stdio) ([]explore.Call, *ir.Header, error) {
	if c.Operations < 1 || c.Operations > explore.MaxCalls {
		return nil, nil, fmt.Errorf("--operations=%d: must be in 1..%d", c.Operations, explore.MaxCalls)
	}
	if c.Ranks != nil && c.Ranks.Hi > explore.MaxRanks {
		return nil, nil, fmt.Errorf("--ranks=%d: at most %d are explored", c.Ranks.Hi, explore.MaxRanks)
	}
	var first explore.Call
	var h ir.Header
	if c.IsFile() {
		s, err := c.Load(ctx, std)
		if err != nil {
			return nil, nil, err
		}
		if c.Rotate {
			return nil, nil, fmt.Errorf("--rotate: %s", source.OwnRoot(c.Source, &s.Header))
		}
		if s.Ranks > explore.MaxRanks {
			return nil, nil, fmt.Errorf("%s has %d ranks; at most %d are explored", c.Source, s.Ranks, explore.MaxRanks)
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
		spec, err := source.New(name, schedule.Params{Ranks: h.Ranks})
		if err != nil {
			return nil, nil, fmt.Errorf("--then: %w", err)
		}
		all = append(all, callOf(spec))
	}
	if c.InPlace {
		return all, &h, inPlace(all, std)
	}
	return all, &h, nil
}

// inPlace makes the calls that fold write results over contributions.
func inPlace(calls []explore.Call, std terminal.Stdio) error {
	some := false
	for i := range calls {
		c := &calls[i]
		if c.Schedule == nil || !c.Schedule.Folds() {
			continue
		}
		report, err := verify.Run(c.Schedule)
		if err != nil {
			return err
		}
		some, c.InPlace, c.NoCopy = true, true, report.Terms.InPlace
	}
	if !some {
		std.Idle("in-place", "no call folds contributions")
	}
	return nil
}

// spec returns the algorithm that the arguments name.
func (c *Verb) spec() (*schedule.Spec, error) {
	p, err := c.Params(c.Source)
	if err != nil {
		return nil, err
	}
	if c.Ranks == nil {
		return nil, fmt.Errorf("--ranks: needed for %s, such as -p 3", c.Source)
	}
	if p.Ranks, err = c.Ranks.One(); err != nil {
		return nil, errors.New("--ranks: explore takes one number, such as -p 3")
	}
	return source.New(c.Source, p)
}

// next returns operation k of a series that begins with first, which is operation 0.
func (c *Verb) next(first explore.Call, k int) (explore.Call, error) {
	if !c.Rotate {
		return first, nil
	}
	spec, err := c.spec()
	if err != nil {
		return first, err
	}
	p := spec.Params()
	alg := spec.Algorithm()
	if !source.Takes(&alg, "root") {
		return first, fmt.Errorf("--rotate: %s has no root", c.Source)
	}
	p.Root = (p.Root + k) % p.Ranks
	turned, err := source.New(c.Source, p)
	if err != nil {
		return first, err
	}
	return callOf(turned), nil
}

func callOf(spec *schedule.Spec) explore.Call {
	alg := spec.Algorithm()
	switch o := spec.Overlay(); {
	case o != nil && alg.Row().Question > 0:
		return explore.Call{Origin: spec.Params().Root, Overlay: o, Asks: spec.Schedule()}
	case o != nil:
		return explore.Call{Origin: spec.Params().Root, Overlay: o, Multicast: alg.Multicasts()}
	}
	return explore.Call{Schedule: spec.Schedule(), Acked: alg.Acknowledged()}
}

// acknowledges reports whether the algorithm of that name returns at its root only when all ranks
// have the message.
func acknowledges(name string) bool {
	for _, a := range schedule.Algorithms() {
		if a.Name == name {
			return a.Acknowledged()
		}
	}
	return false
}
