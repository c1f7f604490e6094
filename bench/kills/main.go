//go:build linux

// Command kills runs ranks, each a process, that do one operation after the other, and kills one of
// them at a random moment with SIGKILL. It checks that all other ranks end, that each names exactly
// the killed ranks, and that they can continue without them (Shrink). It measures the time from the
// kill to the errors:
//
//	go run ./bench/kills                               200 kills of 16 processes over each transport
//	go run ./bench/kills --transports tcp --kills 20 --ranks 8 --seed 7
//	go run ./bench/kills --stop --at-once 3            ranks are stopped with SIGSTOP, and continue later
//	go run ./bench/kills --cut --at-once 3             the network is cut between 3 ranks and the others
//	go build -tags verbs -o /tmp/kills ./bench/kills
//	go run ./bench/guests --guests 1 --memory 1024 -- /tmp/kills --transports verbs --kills 20 --ranks 4
//
// The runs take the works of --works in turn: broadcasts, barriers, rootless messages, questions
// that all ranks ask and answer, barriers of halves made by Split, and, as "blocks", all
// collectives that move several blocks, with blocks of equal and of different lengths.
//
// All ranks are on this host; the transport hybrid treats them as three hosts. With --stop the
// ranks are stopped in place of killed, so the others notice only their silence. They continue when
// all others have reported, and must then report that they were lost themselves. With --cut, which
// needs root and ip, each rank is on its own host, a network namespace. The network is cut in two,
// and each part must name all ranks of the other. Kills prints a table in Markdown. It exits with 1
// if a rank hangs, names other ranks than the first survivor does, or cannot continue. It only
// prints names that differ from the killed ranks, because others may name one rank before the next
// is killed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/bench/internal/tool"
	"github.com/schedgen/schedgen/runtime/transport"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == rankVerb {
		if err := rank(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "kills: rank:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o, err := parse(os.Args[1:], io.Discard); err == nil && o.cut && os.Getenv(insideNetwork) == "" {
		if err := enterNetwork(ctx, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "kills:", err)
			os.Exit(1)
		}
		return
	}
	failed, err := kills(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "kills:", err)
		os.Exit(2)
	case failed:
		os.Exit(1)
	}
}

// options are the values of the flags.
type options struct {
	transports []string
	works      []string
	kills      int
	ranks      int
	atOnce     int
	seed       uint64
	patience   time.Duration
	stop       bool
	cut        bool
	silence    time.Duration
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("kills", flag.ContinueOnError)
	flags.SetOutput(stderr)
	transports := flags.String("transports", strings.Join(usualNames(), ","), "over which, with commas")
	works := flags.String("works", strings.Join(workNames(), ","), "what the ranks do, in turn")
	flags.IntVar(&o.kills, "kills", 200, "number of runs over each transport")
	flags.IntVar(&o.ranks, "ranks", 16, "number of ranks")
	flags.IntVar(&o.atOnce, "at-once", 1, "number of ranks that are killed in each run")
	flags.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of the victims and moments")
	flags.BoolVar(&o.stop, "stop", false, "stop ranks in place of killing them; they continue when the others have reported them lost")
	flags.BoolVar(&o.cut, "cut", false, "cut the network between the ranks and the others in place of killing them; over tcp or mcast")
	flags.DurationVar(&o.silence, "silence", 2*time.Second, "with --stop and --cut: time without a sign of life after which a rank is lost")
	flags.DurationVar(&o.patience, "patience", 30*time.Second, "time after the kill in which all ranks must end")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.transports, o.works = strings.Split(*transports, ","), strings.Split(*works, ",")
	for _, name := range o.transports {
		if !slices.Contains(transport.Names(), name) {
			return o, fmt.Errorf("no transport %q, only %s", name, strings.Join(transport.Names(), ", "))
		}
	}
	for _, name := range o.works {
		if !slices.Contains(workNames(), name) {
			return o, fmt.Errorf("no work %q, only %s", name, strings.Join(workNames(), ", "))
		}
	}
	if o.cut {
		o.transports = slices.DeleteFunc(o.transports, func(name string) bool { return name != "tcp" && name != "mcast" })
	}
	if o.stop && o.cut || len(o.transports) == 0 {
		return o, errors.New("--cut is for tcp and mcast, and goes without --stop")
	}
	if o.kills < 1 || o.ranks < 2 || o.atOnce < 1 || o.atOnce >= o.ranks {
		return o, fmt.Errorf("%d kills of %d among %d ranks", o.kills, o.atOnce, o.ranks)
	}
	return o, nil
}

func kills(ctx context.Context, args []string, stdout, stderr io.Writer) (failed bool, err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return false, err
	}
	what, head := "kills", "killed"
	if o.stop {
		what, head = "stops", "stopped"
	}
	if o.cut {
		what, head = "cuts", "other part"
		if err := makeBridges(); err != nil {
			return false, err
		}
	}
	fmt.Fprintf(stdout, "%d %s of %d among %d processes over each transport, seed %d\n\n", o.kills, what, o.atOnce, o.ranks, o.seed)
	titles := []string{"transport", "runs:", "survivors:", "name the same:", "name the " + head + ":", "went on:", "known after, median:", "99 %:", "most:"}
	if o.stop {
		titles = append(titles, "told when they go on:")
	}
	tool.WriteTitles(stdout, titles...)
	for _, name := range o.transports {
		t := tally{transport: name, stop: o.stop}
		random := rand.New(rand.NewPCG(o.seed, uint64(len(name))))
		for i := range o.kills {
			parts, err := o.runOnce(ctx, name, o.works[i%len(o.works)], random)
			if err != nil {
				return true, fmt.Errorf("%s, run %d: %w", name, i, err)
			}
			t.runs++
			for _, r := range parts {
				for _, why := range t.addOutcome(r) {
					fmt.Fprintf(stderr, "%s, run %d (%s): %s\n", name, i, o.works[i%len(o.works)], why)
				}
			}
		}
		tool.WriteCells(stdout, t.cells()...)
		failed = failed || t.broken()
	}
	return failed, nil
}

// runOnce makes one run. With --cut each of the two parts has an outcome.
func (o *options) runOnce(ctx context.Context, transport, work string, random *rand.Rand) ([]*outcome, error) {
	if o.cut {
		return runCut(ctx, o, transport, work, random)
	}
	r, err := runKills(ctx, o, transport, work, random)
	return []*outcome{r}, err
}
