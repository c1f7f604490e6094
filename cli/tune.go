package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/model/fit"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/schedule/selection"
)

// tuneCmd is the verb tune.
type tuneCmd struct {
	Ranks      *source.Ranks `short:"p" placeholder:"P" help:"Also time the algorithms themselves, among 2 to P ranks. Half of --budget is then for the parameters."`
	Iterations int           `default:"300" placeholder:"N" help:"With -p: operations to time of each algorithm, twice; default 300."`
	Netns      bool          `help:"Simulate a host for each rank by a network namespace at a bridge. Linux only; needs root, ip and nsenter."`
	tuneFlags
	modelFlags
	multicastFlags
	tuneLink
}

// tuneFlags are the flags for the measurement and its results.
type tuneFlags struct {
	Collective []string      `placeholder:"NAME" complete:"tuned" help:"Collectives to make rules for, such as bcast,alltoall; default all."`
	Size       sizeRange     `default:"1B..1MiB" placeholder:"LO..HI" help:"Range of message sizes; each measured size is twice the one before; default 1B..1MiB; units B, kB, MB, GB, KiB, MiB, GiB."`
	UpTo       int           `name:"up-to" default:"1024" placeholder:"N" help:"Largest number of ranks for which the model makes rules; default 1024."`
	Precision  float64       `default:"0.05" placeholder:"X" help:"Measure until half the width of each 95 % confidence interval is below this fraction of its value; default 0.05."`
	Budget     time.Duration `default:"1m" help:"Begin no further measurement after this time."`
	Rules      string        `placeholder:"FILE" complete:"file" help:"Write the rules to FILE."`
	Plot       string        `placeholder:"FILE.svg" complete:"file" help:"Draw the times of messages to FILE.svg."`
	JSON       bool          `name:"json" help:"Print one object."`
}

// tuneLink are the flags for the connection between the ranks.
type tuneLink struct {
	Transport string        `placeholder:"NAME" complete:"transport" help:"How ranks reach each other, see above; default tcp."`
	IPv6      bool          `name:"ipv6" help:"Use IPv6."`
	Interface string        `placeholder:"NAME" complete:"interface" help:"Network interface of the multicasts; default the loopback interface."`
	Device    string        `placeholder:"NAME" help:"RDMA device of --transport=verbs, NAME or NAME:PORT; default the first with an active port."`
	Timeout   time.Duration `default:"30m" help:"Abort a run of ranks after this time."`
	Verbose   bool          `short:"v" help:"Print the processes of the ranks to standard error."`
	keyFlags
}

// Help is the long help text.
func (tuneCmd) Help() string {
	return `Starts two ranks and measures the times of messages between them. It prints the parameters L, o,
g, G and O of the LogGP model and t0 and t_d of the linear model, each with its 95 % confidence
interval. If one line does not fit all sizes, it prints several.

With -p it also times the algorithms themselves, as bench does. From all times it makes rules that
choose algorithms in the cases in which a choice is better than the built-in one. The reason of
each rule tells whether the gain was measured or modelled, and how large it is.

The model makes no rules from a bad measurement: if one of the four times of a message is uncertain
by more than 25 % at some size, or is off by more than 10 % beyond its interval from a model in which
longer messages never take less. Then tune prints which times are off and by how much, and
makes no modelled rules. Without -p, it leaves the file of --rules unchanged and exits with 1.

Modelled rules are for one rank on each host, without multicast or, with --multicast, with it: a
multicast costs its sender a put, and reaches all ranks that do not miss it. Measured rules are for
the measured ranks, which are on one host unless --netns is given. docs/tuning.md describes the measurement and
its meaning.

Transports:

` + transportTable(benchAuto, overMem, overTCP, overMcast, overShm, overHybrid, overVerbs, overAuto) + `
Examples:

  schedgen tune
  schedgen tune --plot tuned.svg --rules tuned.json --budget 20s
  schedgen tune -p 8 --transport shm --budget 10m --rules tuned.json
  schedgen tune --from-model --L 2us --o 1us --g 1us --G 0.8ns \
    --rules tuned.json
  schedgen tune --from-model --collective bcast --up-to 64 --multicast \
    --loss 0.1`
}

// Run measures, unless the flags give a model, and makes rules.
func (c *tuneCmd) Run(ctx context.Context, std terminal.Stdio) error {
	c.dropIdle(std)
	if err := c.check(); err != nil {
		return err
	}
	t := &tuned{cmd: c, std: std, start: time.Now()}
	if err := t.learn(ctx); err != nil {
		return err
	}
	return t.finish(ctx)
}

// finish makes the rules, writes the files of the flags and prints the result. If the measurement
// is too bad for a model, and no candidates were to be timed, it writes no rules and returns an
// error with the reason.
func (t *tuned) finish(ctx context.Context) error {
	c := t.cmd
	if err := t.makeRules(ctx); err != nil {
		return err
	}
	if c.Plot != "" {
		if err := terminal.WriteFile("plot", c.Plot, func(w io.Writer) error { return drawTuned(w, t) }); err != nil {
			return err
		}
	}
	refusal := t.refusal()
	if c.Rules != "" && refusal == nil {
		write := func(w io.Writer) error {
			_, err := w.Write(t.rules.Text())
			return err
		}
		if err := terminal.WriteFile("rules", c.Rules, write); err != nil {
			return err
		}
	}
	show := t.print
	if c.JSON {
		show = func(w io.Writer) error { return terminal.WriteJSON(w, t.object(), "") }
	}
	if err := show(terminal.NewWriter(ctx, t.std.Out)); err != nil {
		return err
	}
	return refusal
}

// The bounds of flags.
const (
	maxTuned      = 1 << 30 // bytes of a message
	leastTuned    = 6       // least number of sizes to which lines can be fitted
	mostPrecise   = 0.001
	leastPrecise  = 0.5
	maxTunedRanks = 1 << 14 // package selection bounds the size of schedules, so with more ranks it would try hardly any numbers of chunks
)

// check checks the flags and sets their defaults.
func (c *tuneCmd) check() error {
	if err := c.tuneFlags.check(); err != nil {
		return err
	}
	if c.Transport == "" {
		c.Transport = overTCP
	}
	if c.Iterations < 10 || c.Iterations > maxBenchIterations {
		return fmt.Errorf("--iterations=%d: must be in 10..%d", c.Iterations, maxBenchIterations)
	}
	if err := c.checkModel(c.Ranks != nil, c.Plot != ""); err != nil {
		return err
	}
	if err := c.multicastFlags.check(); err != nil {
		return err
	}
	if c.Ranks == nil {
		return nil
	}
	flags := c.flagsFor(0)
	flags.Ranks = c.Ranks
	p, err := flags.ranks()
	if err == nil && p < 2 {
		err = errors.New("--ranks=1: must be at least 2")
	}
	return err
}

// check checks the flags and sets their defaults.
func (f *tuneFlags) check() error {
	if f.Collective == nil {
		f.Collective = tunable()
	}
	for _, name := range f.Collective {
		if err := oneOf("collective", name, tunable()); err != nil {
			return err
		}
	}
	switch {
	case f.Size.lo < 1 || f.Size.hi > maxTuned:
		return fmt.Errorf("--size=%d..%d: must be in 1B..%v", f.Size.lo, f.Size.hi, byteSize(maxTuned))
	case len(doublings(int(f.Size.lo), int(f.Size.hi))) < leastTuned:
		return fmt.Errorf("--size=%d..%d: the range must hold at least %d sizes, each twice the one before, such as 1B..1MiB", f.Size.lo, f.Size.hi, leastTuned)
	case f.UpTo < 2 || f.UpTo > maxTunedRanks:
		return fmt.Errorf("--up-to=%d: must be in 2..%d", f.UpTo, maxTunedRanks)
	case !(f.Precision >= mostPrecise && f.Precision <= leastPrecise):
		return fmt.Errorf("--precision=%v: must be in %v..%v", f.Precision, mostPrecise, leastPrecise)
	case f.Budget <= 0:
		return fmt.Errorf("--budget=%v: must be more than 0", f.Budget)
	}
	return nil
}

// flagsFor returns the flags of a run with the given number of ranks.
func (c *tuneCmd) flagsFor(ranks int) runFlags {
	r := runFlags{
		Ranks: &source.Ranks{Lo: ranks, Hi: ranks}, Transport: c.Transport, Seed: 1, IPv6: c.IPv6, Interface: c.Interface, Device: c.Device,
		Timeout: c.Timeout, Silence: c.Timeout, keyFlags: c.keyFlags, Verbose: c.Verbose,
	}
	if c.Netns {
		r.Netns = &ranks
	}
	return r
}

// doublings returns lo, 2·lo, 4·lo and so on below hi, and hi.
func doublings(lo, hi int) (all []int) {
	for n := lo; n < hi; n *= 2 {
		all = append(all, n)
	}
	return append(all, hi)
}

// tuned is a machine with its measured times and the rules that follow.
type tuned struct {
	cmd   *tuneCmd
	std   terminal.Stdio
	start time.Time

	link    crew.Link                      // the link that was measured
	wanted  int                            // number of sizes to measure
	samples []fit.Samples                  // nil with --from-model
	machine *fit.Machine                   // nil with --from-model
	timed   map[selection.Case][]timedCell // times of candidates; nil if they were not timed
	dropped int                            // cases that were not timed because the budget was over
	misfits []fit.Misfit                   // the times that are too bad for a model; if there are any, it makes no rules
	rules   *selection.Rules
	made    struct{ measured, modelled int } // numbers of rules
}

// learn measures, unless the flags give a model.
func (t *tuned) learn(ctx context.Context) error {
	if t.cmd.FromModel {
		return nil
	}
	if err := t.probe(ctx); err != nil {
		return err
	}
	if t.cmd.Ranks != nil {
		return t.timeCandidates(ctx)
	}
	return nil
}
