package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/sim/fit"
)

// tuneCmd is the verb tune.
type tuneCmd struct {
	Ranks      *rankRange `short:"p" placeholder:"P" help:"Time the candidates themselves among 2 to P ranks, too; half of --budget is for the parameters then."`
	Iterations int        `default:"300" placeholder:"N" help:"With -p: operations that are timed of each candidate, twice, default 300."`
	Netns      bool       `help:"Make a host up for each rank, a network namespace at a bridge. Linux; needs root, ip and nsenter."`
	tuneFlags
	modelFlags
	tuneLink
}

// tuneFlags say what is measured, and what becomes of it.
type tuneFlags struct {
	Collective []string      `placeholder:"NAME" complete:"tuned" help:"Make rules of these collectives, such as bcast,alltoall, default all."`
	Size       sizeRange     `default:"1B..1MiB" placeholder:"LO..HI" help:"Bytes of messages, each twice those before, default 1B..1MiB; units B, kB, MB, GB, KiB, MiB, GiB."`
	UpTo       int           `name:"up-to" default:"1024" placeholder:"N" help:"Ranks up to which the model makes rules, default 1024."`
	Precision  float64       `default:"0.05" placeholder:"X" help:"Measure until half of each 95 % confidence interval is below this part of its value, default 0.05."`
	Budget     time.Duration `default:"1m" help:"Begin no further measurement after this time."`
	Rules      string        `placeholder:"FILE" complete:"file" help:"Write rules to FILE."`
	Plot       string        `placeholder:"FILE.svg" complete:"file" help:"Draw what messages take."`
	JSON       bool          `name:"json" help:"Print one object."`
}

// tuneLink says how ranks reach each other.
type tuneLink struct {
	Transport string        `placeholder:"NAME" complete:"transport" help:"How ranks reach each other, see above; default tcp."`
	IPv6      bool          `name:"ipv6" help:"Use IPv6."`
	Interface string        `placeholder:"NAME" complete:"interface" help:"Network interface of the multicasts, default the loopback interface."`
	Device    string        `placeholder:"NAME" help:"RDMA device of --transport=verbs, NAME or NAME:PORT, default the first with an active port."`
	Timeout   time.Duration `default:"30m" help:"Give a run of ranks up after this time."`
	Verbose   bool          `short:"v" help:"Tell the ranks' processes on standard error."`
	keyFlags
}

// Help is the long help text.
func (tuneCmd) Help() string {
	return `Starts two ranks and measures what messages between them take: the parameters L, o, g, G and O of
the LogGP model and t0, t_d of the linear one, each with its 95 % confidence interval, and, where one
line does not fit, lines by size. With -p it also times the candidates themselves, as bench
does. Of that it makes rules, which choose algorithms, wherever a choice is better than the
built-in one; a rule's reason says whether that was measured or modelled, and by how much.

The model makes no rules of a bad measurement: if one of the four times of a message is uncertain by
more than 25 % at some length, or differs by more than 10 % beyond its interval from a model in which
longer messages take no less. Then tune says which times are off and by how much, leaves the file of
--rules as it is, and exits with 1 unless -p has measured rules.

The model makes rules for ranks that are each on a host of its own, without multicast; measured
rules are for what was measured, on one host unless --netns is given. docs/tuning.md says how all
is measured and what it means.

Transports:

` + transportTable(benchAuto, overMem, overTCP, overMcast, overShm, overHybrid, overVerbs, overAuto) + `
Examples:

  schedgen tune
  schedgen tune --plot tuned.svg --rules tuned.json --budget 20s
  schedgen tune -p 8 --transport shm --budget 10m --rules tuned.json
  schedgen tune --from-model --L 2us --o 1us --g 1us --G 0.8ns \
    --rules tuned.json`
}

// Run measures, unless a model is given, and makes rules.
func (c *tuneCmd) Run(ctx context.Context, std stdio) error {
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

// finish makes the rules, and writes and prints what was asked for. Without rules, because the
// measurement is no basis for them, it writes none and returns an error that says why.
func (t *tuned) finish(ctx context.Context) error {
	c := t.cmd
	if err := t.makeRules(ctx); err != nil {
		return err
	}
	if c.Plot != "" {
		if err := writeFile("plot", c.Plot, func(w io.Writer) error { return drawTuned(w, t) }); err != nil {
			return err
		}
	}
	refusal := t.refusal()
	if c.Rules != "" && refusal == nil {
		write := func(w io.Writer) error {
			_, err := w.Write(t.rules.Text())
			return err
		}
		if err := writeFile("rules", c.Rules, write); err != nil {
			return err
		}
	}
	show := t.print
	if c.JSON {
		show = func(w io.Writer) error { return writeJSON(w, t.object(), "") }
	}
	if err := show(ctxWriter{ctx, t.std.Out}); err != nil {
		return err
	}
	return refusal
}

// The bounds of flags.
const (
	maxTuned      = 1 << 30 // bytes of a message
	leastTuned    = 6       // sizes with which lines tell something
	mostPrecise   = 0.001
	leastPrecise  = 0.5
	maxTunedRanks = 1 << 14 // with more hardly any chunks are searched: package selection bounds schedules
)

// check checks the flags and fills in their defaults.
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
	if c.Ranks == nil {
		return nil
	}
	flags := c.run(0)
	flags.Ranks = c.Ranks
	p, err := flags.ranks()
	if err == nil && p < 2 {
		err = errors.New("--ranks=1: candidates are timed among 2 ranks or more")
	}
	return err
}

// check checks the flags and fills in their defaults.
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
		return fmt.Errorf("--size=%d..%d: a range of %d sizes is needed, each twice those before, such as 1B..1MiB", f.Size.lo, f.Size.hi, leastTuned)
	case f.UpTo < 2 || f.UpTo > maxTunedRanks:
		return fmt.Errorf("--up-to=%d: must be in 2..%d", f.UpTo, maxTunedRanks)
	case !(f.Precision >= mostPrecise && f.Precision <= leastPrecise):
		return fmt.Errorf("--precision=%v: must be in %v..%v", f.Precision, mostPrecise, leastPrecise)
	case f.Budget <= 0:
		return fmt.Errorf("--budget=%v: must be more than 0", f.Budget)
	}
	return nil
}

// run returns the flags of a run of so many ranks.
func (c *tuneCmd) run(ranks int) runFlags {
	r := runFlags{
		Ranks: &rankRange{ranks, ranks}, Transport: c.Transport, Seed: 1, IPv6: c.IPv6, Interface: c.Interface, Device: c.Device,
		Timeout: c.Timeout, Silence: c.Timeout, keyFlags: c.keyFlags, Verbose: c.Verbose,
	}
	if c.Netns {
		r.Netns = &ranks
	}
	return r
}

// doublings returns lo, each number that is twice the one before, and hi.
func doublings(lo, hi int) (all []int) {
	for n := lo; n < hi; n *= 2 {
		all = append(all, n)
	}
	return append(all, hi)
}

// tuned is what is known of a machine.
type tuned struct {
	cmd   *tuneCmd
	std   stdio
	start time.Time

	link    link                           // by which it was measured
	wanted  int                            // sizes that were to be measured
	samples []fit.Samples                  // nil: a model was given
	machine *fit.Machine                   // likewise
	timed   map[selection.Case][]timedCell // what candidates took; nil: they were not timed
	dropped int                            // cases for which there was no time
	misfits []fit.Misfit                   // why the model has made no rules; nil: it may make some
	rules   *selection.Rules
	made    struct{ measured, modelled int } // rules
}

// learn measures, unless a model is given.
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
