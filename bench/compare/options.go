package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schedgen/schedgen/bench/internal/tool"
)

// options are the values of the flags.
type options struct {
	quick    bool
	install  bool
	limits   bool
	rounds   int
	keep     int
	limit    time.Duration // longest time of one measurement
	budget   time.Duration // time of one cell, after which no further round starts
	output   string        // directory; "": none
	name     string        // name of the files in the directory
	against  string
	measured string
	cells    []cell
}

// maxNumber is the largest number of ranks or bytes.
const maxNumber = 1 << 30

func parseOptions(args []string, stderr io.Writer) (*options, error) {
	o := new(options)
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.SetOutput(stderr)
	wires, ops := []string{wireTCP, wireShm}, operations()
	ranks, sizes := []int{2, 4, 8, 16, 32}, []int{2, 2 << 10, 64 << 10, 512 << 10}
	blocks, vectors := []int{8, 1 << 10, 64 << 10, 1 << 20}, []int{8, 2 << 10, 64 << 10, 1 << 20, 16 << 20}
	f.BoolVar(&o.quick, "quick", false, "P = 2, 4, 8; 2 B, 64 KiB, 512 KiB, blocks and vectors of 8 B and 64 KiB; fewer iterations")
	f.BoolVar(&o.install, "install", false, "install Open MPI, MPICH and a C compiler with apt-get first")
	f.BoolVar(&o.limits, "limits", true, "also measure the raw limits of the system")
	f.Func("wire", "only over these: tcp (schedgen: TCP and multicast), shm (default "+strings.Join(wires, ",")+")", tool.List(&wires, tool.OneOf(wires)))
	f.Func("op", "only these operations (default "+strings.Join(ops, ",")+")", tool.List(&ops, tool.OneOf(ops)))
	f.Func("p", "only these numbers of ranks (default 2,4,8,16,32)", tool.List(&ranks, tool.Number(1, maxNumber)))
	f.Func("size", "only these sizes of a message, or of a block, in bytes (default 2,2048,65536,524288, for blocks 8,1024,65536,1048576, for folded vectors 8,2048,65536,1048576,16777216)", tool.List(&sizes, tool.Number(1, maxNumber)))
	f.IntVar(&o.rounds, "rounds", 5, "measurements of each contender")
	f.IntVar(&o.keep, "keep", 3, "after the first round keep only the best `N` of schedgen's algorithms over each transport; 0: all")
	f.DurationVar(&o.limit, "limit", 20*time.Second, "longest time of one measurement")
	f.DurationVar(&o.budget, "budget", 2*time.Minute, "start no further round of a cell after this time")
	f.StringVar(&o.output, "output", "bench/results", "`directory` for the results; empty: none")
	f.StringVar(&o.name, "name", "", "name of the files in the directory; default quick or full")
	f.StringVar(&o.against, "against", "", "compare the ratios with those in this `file`")
	f.StringVar(&o.measured, "measured", "", "do not measure; take the results from this `file`")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	given := map[string]bool{}
	f.Visit(func(g *flag.Flag) { given[g.Name] = true })
	if o.quick {
		if !given["p"] {
			ranks = []int{2, 4, 8}
		}
		if !given["size"] {
			sizes = []int{2, 64 << 10, 512 << 10}
		}
		blocks, vectors = []int{8, 64 << 10}, []int{8, 64 << 10}
	}
	if given["size"] {
		blocks, vectors = sizes, sizes
	}
	if o.name == "" {
		o.name = "full"
		if o.quick {
			o.name = "quick"
		}
	}
	if !given["output"] && (o.against != "" || o.measured != "") {
		o.output = "" // stored results stay
	}
	o.cells = cells(wires, ops, ranks, sizes, blocks, vectors)
	return o, o.check(f.Args())
}

func (o *options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q: only flags are taken", rest[0])
	case o.rounds < 1 || o.rounds > 1000:
		return fmt.Errorf("-rounds=%d: must be in 1..1000", o.rounds)
	case o.keep < 0:
		return fmt.Errorf("-keep=%d: must not be negative", o.keep)
	case o.limit < time.Second || o.budget < time.Second:
		return fmt.Errorf("-limit=%v, -budget=%v: must be a second at least", o.limit, o.budget)
	}
	return nil
}
