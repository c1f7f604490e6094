// Command compare compares schedgen with Open MPI and MPICH. In one run it measures all of them in
// turn, several times, with the same operation, size, number of ranks and definition of time.
//
//	go run ./bench/compare --install               install the peers first (Debian, Ubuntu)
//	go run ./bench/compare --quick                 a few minutes
//	go run ./bench/compare --wire tcp --op barrier,bcast_ack -p 8 --size 2,65536
//	go run ./bench/compare --wire tcp --quick --against bench/results/tcp.csv
//
// It writes NAME.csv, NAME.md and NAME.svg to bench/results, or to --output. With --against or
// --measured it writes files only if --output is given, so that stored results stay. With --against
// the exit code is 1 if a ratio got worse by more than noise. The exit code is 2 after any other
// error.
//
// It draws the picture without a plotting library, because the fonts and formats of a library would
// be dependencies of the whole module.
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
	if len(os.Args) > 1 && os.Args[1] == childVerb {
		if err := limitChild(os.Args[2:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "compare: child:", err)
			os.Exit(2)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the command and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := compare(ctx, args, stdout, stderr)
	var worse *worseError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &worse):
		fmt.Fprintln(stderr, "compare:", err)
		return 1
	}
	fmt.Fprintln(stderr, "compare:", err)
	return 2
}

func compare(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	var stored *results
	if o.against != "" {
		if stored, err = readResults(o.against); err != nil {
			return err
		}
	}
	measured, err := obtain(ctx, o, stderr)
	if measured == nil {
		return err
	}
	// Write the results even if there was no time for all of them.
	if err := errors.Join(err, writeAll(o, measured, stdout)); err != nil || stored == nil {
		return err
	}
	return against(stdout, stored, measured)
}

// obtain measures, or reads stored results. With an error it returns the results before the error.
func obtain(ctx context.Context, o *options, stderr io.Writer) (*results, error) {
	if o.measured != "" {
		return readResults(o.measured)
	}
	if o.install {
		if err := install(ctx, stderr); err != nil {
			return nil, err
		}
	}
	b, err := build(ctx, stderr)
	if err != nil {
		return nil, err
	}
	defer b.Remove()
	r := &results{about: b.about(ctx, o)}
	if err := measureCells(ctx, o, b, r, stderr); err != nil {
		return r, err
	}
	if o.limits {
		r.rows = append(r.rows, measureLimits(ctx, o, stderr)...)
	}
	return r, ctx.Err()
}
