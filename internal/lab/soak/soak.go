// Package soak is the verb soak of schedlab.
package soak

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/options"
	"github.com/schedgen/schedgen/internal/lab/internal/units"
	"github.com/schedgen/schedgen/internal/simnet"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/transport"
)

// Verb runs communicators on a simulated network with faults drawn from seeds.
type Verb struct {
	Seeds              *uint64 `placeholder:"1000" help:"Number of seeds to run."`
	From               *uint64 `placeholder:"SEED" help:"First seed; default 1."`
	Ranks              int     `short:"p" placeholder:"N" help:"Most ranks of a run; default 16. A seed gives a different run if this differs. With --real the number of ranks; default 8."`
	options.BudgetFlag `embed:"" set:"budget=0"`
	Seed               *uint64 `placeholder:"SEED" help:"Run only this seed. With --real the seed of all draws; default 1."`
	Script             string  `placeholder:"FILE" help:"Run the scenario of a JSON file (- for standard input)."`
	Trace              bool    `help:"With --seed or --script: print every event."`
	JSON               bool    `name:"json" help:"Print one object."`

	Real          bool           `help:"Run ranks as processes of this host under load."`
	Time          time.Duration  `placeholder:"TIME" help:"With --real: time over each transport; default 1m."`
	Transport     []string       `placeholder:"NAME" complete:"transport" help:"With --real: transports, one after the other; default tcp,shm,hybrid."`
	Key           bool           `help:"With --real: all frames over networks have a key, made for the run."`
	Loss          units.Share    `placeholder:"SHARE" help:"With --real: over hybrid, two ranks are on each host, a network namespace, and this share of the frames to each host is lost, such as 2% or 0.02. Needs root."`
	Death         *time.Duration `placeholder:"TIME" help:"With --real: time in which one rank dies; 0: none dies; default 15s."`
	Patience      time.Duration  `placeholder:"TIME" help:"With --real: a rank hangs if it ends no operation for so long; default 30s."`
	options.Files `embed:"" set:"name=soak"`
}

// Help is the long help text.
func (Verb) Help() string {
	return `Runs communicators on a simulated network whose faults are drawn from a seed: links lose, reorder,
duplicate and drop packets, partitions separate hosts, and processes pause, start late and die. After
a while the faults end, and then every operation must end. Each seed runs twice and must behave the
same both times.

For a seed that fails it prints the command that repeats the run, and a smaller scenario that fails,
too. The exit code is then 1.

With --real the ranks are processes of this host, and nothing is simulated. All ranks draw the same
sequence of collectives, lengths and roots, publish and ask, and compare every result with one that
they compute themselves. In every --death one rank kills itself. The others must name it and continue
without it (Shrink). Then all close, and the same processes and a new one meet as a new job. Half of
the processes never die, so they live for the whole --time. The file NAME.csv of --out has what these
use in each second, NAME.calls.csv how long calls take, NAME.md has tables and NAME.svg is a picture.

The exit code is 1 if a result is wrong, a rank fails or hangs, or if the processes that never die use
more in the last quarter of the time than in the second one: memory by 20 % and 8 MiB, or descriptors
or goroutines by 10 % and 2, on average. Growth is judged if --time is a minute or more.

Examples:

  schedlab soak --seeds 2000
  schedlab soak --seed 7 --trace
  schedlab soak --real --transport shm --time 30s --death 10s --out ''
  sudo schedlab soak --real --time 1h --death 1m --key --loss 2%`
}

// maxSoakRanks is the largest number of ranks of a run: a partition is a set of hosts of 64 bits.
const maxSoakRanks = 64

// maxFailing is the number of failed seeds after which no further ones begin.
const maxFailing = 5

func (c *Verb) check() error {
	if c.Ranks == 0 {
		c.Ranks = 16
	}
	switch {
	case c.Ranks < 1 || c.Ranks > maxSoakRanks:
		return fmt.Errorf("--ranks=%d: must be in 1..%d", c.Ranks, maxSoakRanks)
	case c.Budget < 0:
		return fmt.Errorf("--budget=%v: must not be negative", c.Budget)
	case c.Seed != nil && c.Script != "":
		return fmt.Errorf("--seed and --script: give only one of them")
	case (c.Seeds != nil || c.From != nil) && (c.Seed != nil || c.Script != ""):
		return fmt.Errorf("--seeds and --from: not with --seed or --script, which run once")
	case c.Trace && c.Seed == nil && c.Script == "":
		return fmt.Errorf("--trace: needs --seed or --script")
	case c.Trace && c.JSON:
		return fmt.Errorf("--trace and --json: give only one of them")
	case c.Seeds != nil && *c.Seeds == 0:
		return fmt.Errorf("--seeds=0: must be at least 1")
	}
	c.Seeds, c.From = cmp.Or(c.Seeds, new(uint64(1000))), cmp.Or(c.From, new(uint64(1)))
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"transport", c.Transport != nil}, {"key", c.Key}, {"loss", c.Loss != 0},
		{"time", c.Time != 0}, {"death", c.Death != nil}, {"patience", c.Patience != 0},
	} {
		if flag.given {
			return fmt.Errorf("--%s: needs --real", flag.name)
		}
	}
	return nil
}

// overHosts is the transport whose ranks are on several hosts.
const overHosts = "hybrid"

// checkReal sets defaults of --real, and returns an error for values that make no sense.
func (c *Verb) checkReal() error {
	if c.Ranks == 0 {
		c.Ranks = 8
	}
	c.Transport = options.Or(c.Transport, "tcp", "shm", overHosts)
	c.Time, c.Patience = cmp.Or(c.Time, time.Minute), cmp.Or(c.Patience, 30*time.Second)
	if c.Death == nil {
		c.Death = new(15 * time.Second)
	}
	switch {
	case c.Ranks < 2 || c.Ranks > maxSoakRanks:
		return fmt.Errorf("--ranks=%d: must be in 2..%d with --real", c.Ranks, maxSoakRanks)
	case c.Script != "" || c.Trace || c.JSON || c.Budget != 0 || c.Seeds != nil || c.From != nil:
		return errors.New("--script, --trace, --json, --budget, --seeds and --from: not with --real")
	case c.Time < time.Second:
		return fmt.Errorf("--time=%v: must be a second at least", c.Time)
	case *c.Death != 0 && *c.Death < time.Second:
		return fmt.Errorf("--death=%v: must be a second at least, or 0", *c.Death)
	case c.Patience < time.Second:
		return fmt.Errorf("--patience=%v: must be a second at least", c.Patience)
	case c.Loss != 0 && !slices.Contains(c.Transport, overHosts):
		return fmt.Errorf("--loss: needs --transport %s", overHosts)
	}
	return errors.Join(options.Among("transport", c.Transport, transport.Names()), c.Named("soak"))
}

// Run runs the seeds or the scenario of the flags and prints the result.
func (c *Verb) Run(ctx context.Context, std terminal.Stdio) error {
	if c.Real {
		return c.runReal(ctx, std)
	}
	if err := c.check(); err != nil {
		return err
	}
	if c.Seed != nil {
		return c.replay(ctx, std, simnet.Draw(*c.Seed, c.Ranks), fmt.Sprintf("seed %d", *c.Seed))
	}
	if c.Script != "" {
		sc, err := c.readScript(std)
		if err != nil {
			return err
		}
		return c.replay(ctx, std, sc, c.Script)
	}
	s := soak{cmd: c, bar: terminal.NewProgress(std, int(min(*c.Seeds, 1<<40)), "soaking")}
	s.trySeeds(ctx)
	s.bar.Clear()
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.print(ctx, std)
}

func (c *Verb) readScript(std terminal.Stdio) (*simnet.Scenario, error) {
	in, err := (&source.Args{Source: c.Script}).Open(std)
	if err != nil {
		return nil, fmt.Errorf("--script: %w", err)
	}
	defer in.Close() // read only: nothing to lose
	sc, err := simnet.ReadScenario(in)
	if err != nil {
		return nil, fmt.Errorf("--script=%s: %w", c.Script, err)
	}
	return sc, nil
}

// replay runs one scenario.
func (c *Verb) replay(ctx context.Context, std terminal.Stdio, sc *simnet.Scenario, name string) error {
	out := terminal.NewWriter(ctx, std.Out)
	if c.Trace {
		if _, err := simnet.Run(sc, out); err != nil {
			return err
		}
	}
	r, err := terminal.Await(ctx, func() (*simnet.Result, error) { return simnet.Check(sc) })
	if err != nil {
		return err
	}
	if c.JSON {
		err = terminal.WriteJSON(out, newScenarioObject(sc, r), "")
	} else {
		err = printReplay(out, sc, r, name)
	}
	if err != nil {
		return err
	}
	if r.Violation != nil {
		return terminal.Negative(fmt.Sprintf("%s: %v", name, r.Violation))
	}
	return nil
}

// soak runs many seeds on all cores.
type soak struct {
	cmd    *Verb
	bar    terminal.Progress
	next   atomic.Uint64 // number of seeds taken
	began  time.Time
	took   time.Duration
	mu     sync.Mutex // guards the following, and the bar
	done   uint64
	events int
	fails  []soakFailure
}

// soakFailure is a seed that fails.
type soakFailure struct {
	seed     uint64
	err      error
	small    *simnet.Scenario // a small scenario that fails, too
	smallErr error            // its error
	trials   int              // runs that shrinking took
}

func (s *soak) trySeeds(ctx context.Context) {
	s.began = time.Now()
	var workers sync.WaitGroup
	for range goruntime.GOMAXPROCS(0) {
		workers.Go(func() {
			for s.more(ctx) {
				if i := s.next.Add(1) - 1; i < *s.cmd.Seeds {
					s.one(*s.cmd.From + i)
				}
			}
		})
	}
	workers.Wait()
	s.took = time.Since(s.began)
	slices.SortFunc(s.fails, func(a, b soakFailure) int { return int(a.seed) - int(b.seed) })
}

// more reports whether another seed may begin.
func (s *soak) more(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ctx.Err() == nil && s.next.Load() < *s.cmd.Seeds && len(s.fails) < maxFailing &&
		(s.cmd.Budget == 0 || time.Since(s.began) < s.cmd.Budget)
}

func (s *soak) one(seed uint64) {
	sc := simnet.Draw(seed, s.cmd.Ranks)
	r, err := simnet.Check(sc)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	s.bar.Advance()
	if err == nil {
		s.events += 2 * r.Events
		err = r.Violation
	}
	if err != nil {
		s.fails = append(s.fails, soakFailure{seed: seed, err: err})
	}
}

// maxTrials bounds the shrinking of one seed.
const maxTrials = 2000

// shrink finds a small scenario that fails, too. most is the value of --ranks.
func (f *soakFailure) shrink(most int) {
	fails := func(sc *simnet.Scenario) bool {
		r, err := simnet.Check(sc)
		if err == nil && r.Violation != nil {
			f.smallErr = r.Violation
		}
		return err == nil && r.Violation != nil
	}
	f.smallErr = f.err
	f.small, f.trials = simnet.Shrink(simnet.Draw(f.seed, most), fails, maxTrials)
}

// print shrinks the scenarios of failed seeds and prints the result.
func (s *soak) print(ctx context.Context, std terminal.Stdio) error {
	out := terminal.NewWriter(ctx, std.Out)
	for i := range s.fails {
		if err := s.printFailure(ctx, out, &s.fails[i]); err != nil {
			return err
		}
	}
	if s.cmd.JSON {
		if err := terminal.WriteJSON(out, s.object(), ""); err != nil {
			return err
		}
	} else if len(s.fails) == 0 {
		_, err := fmt.Fprintf(out, "%d seeds, from %d on: every promise was kept\n%.1f seeds a second, %.1f million events a second\n",
			s.done, *s.cmd.From, s.rate(), float64(s.events)/1e6/s.took.Seconds())
		if err != nil {
			return err
		}
	}
	if len(s.fails) > 0 {
		return terminal.Negative(fmt.Sprintf("%d of %d seeds fail", len(s.fails), s.done))
	}
	return nil
}

func (s *soak) rate() float64 { return float64(s.done) / s.took.Seconds() }

func (s *soak) printFailure(ctx context.Context, out terminal.Writer, f *soakFailure) error {
	_, err := terminal.Await(ctx, func() (any, error) { f.shrink(s.cmd.Ranks); return nil, nil })
	if err != nil || s.cmd.JSON {
		return err
	}
	script, err := json.Marshal(f.small)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `seed %d: %v
  again    schedlab soak --ranks %d --seed %d --trace
  smaller  after %d trials: %v
           ranks %d, steps %d, faults %d; schedlab soak --trace --script FILE, where FILE holds
%s
`, f.seed, f.err, s.cmd.Ranks, f.seed, f.trials, f.smallErr, f.small.Ranks, len(f.small.Script), len(f.small.Faults), script)
	return err
}
