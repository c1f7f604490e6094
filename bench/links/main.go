//go:build linux

// Command links measures collective operations on simulated hosts (bench/netns) with links of
// chosen rates and losses. The simulator (runtime/simnet) predicts each operation from the same
// hosts, links and message:
//
//	go run ./bench/links --quick                      some minutes
//	go run ./bench/links                              the whole matrix, hours
//	go run ./bench/links --rate 100mbit --loss 0,50 --size 16MiB --algorithm bcast/chain
//	go run ./bench/links --only predict --again       predict anew, measure nothing
//	go run ./bench/links --hosts 5,15 --rate 100mbit --loss 0,10 --algorithm allgather/mcast,allgather/ring
//
// --size is the length of one block; a broadcast has one block, its message. The report compares
// every cell with the least time that the busiest end of a link needs with any algorithm.
//
// It needs the programs that bench/netns needs. It writes NAME.csv and NAME.md to bench/results, or
// to --output, after every cell. It does not repeat cells that are in NAME.csv, so an interrupted
// run can be continued. A cell that takes longer than --limit is ended and reported as such. The
// report lists cells that fail. The exit code is 2 if the matrix could not be completed.
//
// With --network it compares schedules on given networks, and prints tables to standard output:
//
//	go run ./bench/links --network bench/links/testdata/three-sites.net
//	go run ./bench/links --network a.net,b.net --collective bcast --rounds 5 \
//	    --algorithm "bcast/chain,choice,mine.txt,synth --pieces 24 --spread"
//
// Schedules of schedgen synth stand beside algorithms, files, and the choice of the library. Ranks
// are connected by tcp. In each round all schedules run one after the other.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/bench/internal/tool"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == childVerb {
		tool.Exit("links: predict", predictChild(os.Stdin, os.Stdout))
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tool.Exit("links", links(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func links(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	var r *report
	if len(o.networks) == 0 {
		if r, err = readReport(o.file(".csv")); err != nil {
			return err
		}
	}
	programs, err := tool.Build(ctx, stderr, "links", "./cmd/schedgen", "./bench/netns")
	if err != nil {
		return err
	}
	defer programs.Remove()
	if len(o.networks) > 0 {
		return o.compare(ctx, programs, stdout, stderr)
	}
	for i, c := range o.cells() {
		if err := ctx.Err(); err != nil {
			return err
		}
		row := r.rowOf(c)
		if !o.fill(ctx, programs, row) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err // an interrupted measurement is not a result
		}
		fmt.Fprintf(stderr, "%d of %d: %v: %v\n", i+1, len(o.cells()), c, row)
		r.put(row)
		if err := o.writeFiles(ctx, r); err != nil {
			return err
		}
	}
	return o.writeFiles(ctx, r)
}

// fill makes the measurement and the prediction that the row lacks. It reports whether it has made
// any.
func (o *options) fill(ctx context.Context, programs tool.Programs, r *row) (done bool) {
	if o.only != onlyPredict && (o.again || r.measured.empty()) {
		r.iterations = o.iterationsOf(r.cell)
		r.others = o.waitForQuiet(ctx)
		r.measured = outcomeOf(measure(ctx, programs, o, r))
		done = true
	}
	if o.only != onlyMeasure && (o.again || r.predicted.empty()) {
		if r.iterations == 0 {
			r.iterations = o.iterationsOf(r.cell)
		}
		r.predicted = outcomeOf(predict(ctx, o.limit, r))
		done = true
	}
	return done
}

// waitForQuiet waits until other work uses at most the share --quiet of the cores, but no longer
// than --patience. It returns the share at the end, or a negative number if the share is unknown.
func (o *options) waitForQuiet(ctx context.Context) (share float64) {
	for end := time.Now().Add(o.patience); ; {
		share = tool.Busy(ctx)
		if share <= o.quiet || ctx.Err() != nil || time.Now().After(end) {
			return share
		}
	}
}
