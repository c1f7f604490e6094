//go:build linux

// Command links measures collective operations on made-up hosts (bench/netns) with links of chosen
// rates and losses. The simulator (runtime/sim) predicts each broadcast from the same hosts, links
// and message:
//
//	go run ./bench/links --quick                      some minutes
//	go run ./bench/links                              the whole matrix, hours
//	go run ./bench/links --rate 100mbit --loss 0,50 --size 16MiB --algorithm bcast/chain
//	go run ./bench/links --only predict --again       predict anew, measure nothing
//	go run ./bench/links --hosts 5,15 --rate 100mbit --loss 0,10 --algorithm allgather/mcast,allgather/ring
//
// --size is the length of one block, which is the whole message of a broadcast. Every cell is
// compared with the time that the busiest end of a link needs for what has to go through it,
// whatever the algorithm.
//
// It needs what bench/netns needs. NAME.csv and NAME.md in bench/results, or in
// --output, are written after every cell, and what stands in NAME.csv is not done
// again, so a run that was interrupted goes on where it was. A cell that takes
// longer than --limit is ended and reported as such. The exit code is 2 if the
// matrix could not be gone through; cells that fail stand in the report.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == childVerb {
		exit("links: predict", predictChild(os.Stdin, os.Stdout))
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit("links", links(ctx, os.Args[1:], os.Stderr))
}

// exit ends a process that has failed, and says of what.
func exit(what string, err error) {
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(2)
	}
}

func links(ctx context.Context, args []string, stderr io.Writer) error {
	o, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	r, err := readReport(o.file(".csv"))
	if err != nil {
		return err
	}
	b, err := build(ctx, stderr)
	if err != nil {
		return err
	}
	defer b.remove()
	for i, c := range o.cells() {
		if err := ctx.Err(); err != nil {
			return err
		}
		row := r.row(c)
		if !o.fill(ctx, b, row) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err // what was cut short is not a result
		}
		fmt.Fprintf(stderr, "%d of %d: %v: %v\n", i+1, len(o.cells()), c, row)
		r.settle(row)
		if err := o.write(ctx, r); err != nil {
			return err
		}
	}
	return o.write(ctx, r)
}

// fill measures and predicts what the row lacks, and reports whether that was
// anything.
func (o *options) fill(ctx context.Context, b *built, r *row) (done bool) {
	if o.measures() && (o.again || r.measured.empty()) {
		r.iterations = o.iterationsOf(r.cell)
		r.others = o.waitForQuiet(ctx)
		r.measured = outcomeOf(b.measure(ctx, o, r))
		done = true
	}
	if o.predicts() && (o.again || r.predicted.empty()) {
		if r.iterations == 0 {
			r.iterations = o.iterationsOf(r.cell)
		}
		r.predicted = outcomeOf(predict(ctx, o.limit, r))
		done = true
	}
	return done
}
