//go:build linux

// Command cast measures how long it takes to send a file to many hosts. It runs schedgen cast,
// udpcast, uftp and scp in turn on the same simulated hosts, which are network namespaces with
// links of chosen rates and losses:
//
//	go run ./bench/cast --rates 100mbit --hosts 5 --sizes 64MiB      some minutes
//	go run ./bench/cast                                              all cells, many hours
//	go run ./bench/cast --keep-results                               continues after an interruption
//
// It needs root, ip, tc, nft for losses, and the tools. An error names the Debian packages of
// missing programs. Each measurement is a process with its own namespaces for processes, mounts and
// network; everything that it has started ends with it. After each measurement the command appends
// a line to NAME.csv in bench/results, and writes NAME.md and NAME.svg again from that file.
// SCHEDGEN_UPDATE=1 go test ./bench/cast -run Picture redraws the published picture without a
// measurement.
//
// A measurement that takes longer than --budget is ended and reported as such. The report lists
// measurements that fail. The exit code is 2 if not all measurements could be made.
package main

import (
	"context"
	"errors"
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
		tool.Exit("cast", inside(ctx, os.Stdin, os.Stdout))
		return
	}
	tool.Exit("cast", measureAll(ctx, os.Args[1:], os.Stderr))
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
	programs, err := tool.Build(ctx, stderr, "cast", "./cmd/schedgen")
	if err != nil {
		return err
	}
	defer programs.Remove()
	b := &built{programs, map[int]*payload{}}
	about, all := append(tool.About(ctx), r.aboutKept()...), o.trials()
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
		if err := errors.Join(r.append(row), r.writeFiles(about, o)); err != nil {
			return err
		}
	}
	return r.writeFiles(about, o)
}
