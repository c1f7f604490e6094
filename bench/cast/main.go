//go:build linux

// Command cast measures how long a file takes to many hosts: by schedgen cast and
// by what else is used for it, udpcast, uftp and scp, in turn and on the same
// made-up hosts, which are network namespaces with links of chosen rates and losses:
//
//	go run ./bench/cast --rates 100mbit --hosts 5 --sizes 64MiB      some minutes
//	go run ./bench/cast                                              all cells, many hours
//	go run ./bench/cast --keep-results                               goes on where it was interrupted
//
// It needs root, ip, tc, for losses nft, and the tools: the error says which Debian
// packages have what is missing. Each measurement is a process with processes,
// mounts and network of its own, and all that it has started ends with it. NAME.csv
// in bench/results gets a line after each; NAME.md and NAME.svg are made of that anew. SCHEDGEN_UPDATE=1
// go test ./bench/cast -run Picture draws the published picture anew, without a measurement. A
// measurement that takes longer than --budget is ended and reported as such. The
// exit code is 2 if not all could be gone through; what fails stands in the report.
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

	"github.com/schedgen/schedgen/bench/internal/tool"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) == 2 && os.Args[1] == insideVerb {
		exit(inside(ctx, os.Stdin, os.Stdout))
		return
	}
	exit(measureAll(ctx, os.Args[1:], os.Stderr))
}

// exit ends a process that has failed, and says of what.
func exit(err error) {
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "cast:", err)
		os.Exit(2)
	}
}

func measureAll(ctx context.Context, args []string, stderr io.Writer) error {
	o, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	if err := missing(o); err != nil {
		return err
	}
	r, err := openReport(o)
	if err != nil {
		return err
	}
	b, err := build(ctx, stderr)
	if err != nil {
		return err
	}
	defer b.remove()
	about, all := append(tool.About(ctx), r.kept()...), o.trials()
	for i, t := range all {
		if r.known(t) {
			continue
		}
		others := tool.Busy(ctx)
		row, err := b.measure(ctx, o, t)
		if err != nil {
			return err
		}
		row.Others = others
		fmt.Fprintf(stderr, "%d of %d: %v: %v\n", i+1, len(all), t, &row.outcome)
		if err := errors.Join(r.append(row), r.write(about, o)); err != nil {
			return err
		}
	}
	return r.write(about, o)
}
