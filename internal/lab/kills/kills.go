//go:build linux

// Package kills is the verb kills of schedlab.
package kills

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/options"
	"github.com/schedgen/schedgen/internal/lab/internal/ranks"
	"github.com/schedgen/schedgen/internal/lab/internal/report"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/transport"
)

// Verb kills ranks and checks what the others notice.
type Verb struct {
	Transports []string `placeholder:"NAME" complete:"transport" help:"Transports; default all that work on this host."`
	Works      []string `placeholder:"WORK" help:"What the ranks do, in turn: bcast, barrier, rootless, asks, halves or blocks; default all."`
	Kills      int      `default:"200" help:"Number of runs over each transport."`
	Ranks      int      `short:"p" default:"16" help:"Number of ranks."`
	AtOnce     int      `default:"1" placeholder:"N" help:"Number of ranks that are killed in each run; default 1."`
	Seed       uint64   `placeholder:"SEED" help:"Seed of the victims and moments; 0, the default: another one in each run."`
	Stop       bool     `help:"Stop ranks in place of killing them. They continue when the others have reported them lost."`
	Cut        bool     `help:"Cut the network between the ranks and the others in place of killing them; over tcp or mcast."`
	Quorum     bool     `help:"Half of the ranks or fewer must not go on (Config.Quorum)."`

	Silence           time.Duration `default:"2s" help:"With --stop and --cut: time without a sign of life after which a rank is lost."`
	options.LimitFlag `embed:"" set:"limit=30s"`
}

// Help is the long help text.
func (Verb) Help() string {
	return `Runs ranks, each a process, that do one operation after the other, and kills one of them at a random
moment with SIGKILL. It checks that all other ranks end, that each names exactly the killed ranks, and
that they can continue without them (Shrink). It measures the time from the kill to the errors.

The runs take the works of --works in turn: broadcasts, barriers, rootless messages, questions that
all ranks ask and answer, barriers of halves made by Split, and, as "blocks", all collectives that
move several blocks, with blocks of equal and of different lengths.

All ranks are on this host; the transport hybrid treats them as three hosts. With --stop the ranks
are stopped in place of killed, so the others notice only their silence. They continue when all others
have reported, and must then report that they were lost themselves. With --cut, which needs root and
ip, each rank is on its own host, a network namespace. The network is cut in two, and each part must
name all ranks of the other. With --quorum a part without a majority must end with ErrQuorum.

All ranks must end within --limit from the kill. It prints a table in Markdown. The exit code is 1 if
a rank hangs, names other ranks than the first survivor does, or cannot continue. It only prints names
that differ from the killed ranks, because others may name one rank before the next is killed.

Examples:

  schedlab kills
  schedlab kills --transports tcp --kills 20 --ranks 8 --seed 7
  schedlab kills --stop --at-once 3
  schedlab kills --cut --at-once 3
  schedlab kills --cut --at-once 2 --ranks 4 --quorum`
}

// check sets defaults, and returns an error for values that make no sense.
func (v *Verb) check() error {
	if v.Transports == nil {
		v.Transports = usualNames()
	}
	if v.Works == nil {
		v.Works = workNames()
	}
	if v.Seed == 0 {
		v.Seed = rand.Uint64()
	}
	for _, name := range v.Transports {
		if !slices.Contains(transport.Names(), name) {
			return fmt.Errorf("--transports: no transport %q, only %s", name, strings.Join(transport.Names(), ", "))
		}
	}
	for _, name := range v.Works {
		if !slices.Contains(workNames(), name) {
			return fmt.Errorf("--works: no work %q, only %s", name, strings.Join(workNames(), ", "))
		}
	}
	if v.Cut {
		v.Transports = slices.DeleteFunc(v.Transports, func(name string) bool { return name != "tcp" && name != "mcast" })
	}
	if v.Stop && v.Cut || len(v.Transports) == 0 {
		return errors.New("--cut: is for tcp and mcast, and goes without --stop")
	}
	if v.Kills < 1 || v.Ranks < 2 || v.AtOnce < 1 || v.AtOnce >= v.Ranks {
		return fmt.Errorf("--kills=%d --at-once=%d --ranks=%d: each must be at least 1, and some ranks must survive", v.Kills, v.AtOnce, v.Ranks)
	}
	return v.LimitFlag.Check()
}

// Run makes the runs and prints the table.
func (v *Verb) Run(ctx context.Context, std terminal.Stdio) error {
	if err := v.check(); err != nil {
		return err
	}
	failed, err := v.kills(ctx, std.Out, std.Err)
	if err == nil && failed {
		return terminal.Negative("a promise was broken")
	}
	return terminal.Failed(err)
}

// kills makes the runs, and reports whether a promise was broken.
func (v *Verb) kills(ctx context.Context, stdout, stderr io.Writer) (failed bool, err error) {
	what, head := "kills", "killed"
	var on *ranks.Network
	if v.Stop {
		what, head = "stops", "stopped"
	}
	if v.Cut {
		what, head = "cuts", "other part"
		if on, err = newNetwork(v.Ranks); err != nil {
			return false, err
		}
		defer on.Close()
	}
	fmt.Fprintf(stdout, "%d %s of %d among %d processes over each transport, seed %d\n\n", v.Kills, what, v.AtOnce, v.Ranks, v.Seed)
	titles := []string{"transport", "runs:", "survivors:", "name the same:", "name the " + head + ":", "went on:", "known after, median:", "99 %:", "most:"}
	if v.Stop {
		titles = append(titles, "told when they go on:")
	}
	if v.Quorum {
		titles = append(titles, "stopped by the quorum:")
	}
	report.WriteTitles(stdout, titles...)
	for _, name := range v.Transports {
		t := tally{transport: name, stop: v.Stop, quorum: v.Quorum}
		random := rand.New(rand.NewPCG(v.Seed, uint64(len(name))))
		for i := range v.Kills {
			parts, err := v.runOnce(ctx, on, name, v.Works[i%len(v.Works)], random)
			if err != nil {
				return true, fmt.Errorf("%s, run %d: %w", name, i, err)
			}
			t.runs++
			for _, r := range parts {
				for _, why := range t.addOutcome(r) {
					fmt.Fprintf(stderr, "%s, run %d (%s): %s\n", name, i, v.Works[i%len(v.Works)], why)
				}
			}
		}
		report.WriteCells(stdout, t.cells()...)
		failed = failed || t.broken()
	}
	return failed, nil
}

// runOnce makes one run. With --cut each of the two parts has an outcome.
func (v *Verb) runOnce(ctx context.Context, on *ranks.Network, transport, work string, random *rand.Rand) ([]*outcome, error) {
	if v.Cut {
		return runCut(ctx, v, on, transport, work, random)
	}
	r, err := runKills(ctx, v, transport, work, random)
	return []*outcome{r}, err
}
