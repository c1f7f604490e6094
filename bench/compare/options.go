package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
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

// list is a flag with several values, separated by commas.
type list struct {
	values []string
	known  []string // possible values; nil: numbers
}

func (l *list) String() string { return strings.Join(l.values, ",") }

// Set parses the values.
func (l *list) Set(text string) error {
	l.values = strings.Split(text, ",")
	for _, v := range l.values {
		if l.known != nil && !slices.Contains(l.known, v) {
			return fmt.Errorf("%q is none of %s", v, strings.Join(l.known, ", "))
		}
		if n, err := strconv.Atoi(v); l.known == nil && (err != nil || n < 1 || n > maxNumber) {
			return fmt.Errorf("%q is not in 1..%d", v, maxNumber)
		}
	}
	return nil
}

// maxNumber is the largest number of ranks or bytes.
const maxNumber = 1 << 30

func (l *list) numbers() []int {
	var out []int
	for _, v := range l.values {
		n, _ := strconv.Atoi(v) // never fails: Set has checked it
		out = append(out, n)
	}
	return out
}

func parseOptions(args []string, stderr io.Writer) (*options, error) {
	o := new(options)
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.SetOutput(stderr)
	wires := &list{values: []string{wireTCP, wireShm}, known: []string{wireTCP, wireShm}}
	ops := &list{values: operations(), known: operations()}
	ranks := &list{values: []string{"2", "4", "8", "16", "32"}}
	sizes := &list{values: []string{"2", "2048", "65536", "524288"}}
	blocks := []string{"8", "1024", "65536", "1048576"}
	vectors := []string{"8", "2048", "65536", "1048576", "16777216"}
	f.BoolVar(&o.quick, "quick", false, "P = 2, 4, 8; 2 B, 64 KiB, 512 KiB, blocks and vectors of 8 B and 64 KiB; fewer iterations")
	f.BoolVar(&o.install, "install", false, "install Open MPI, MPICH and a C compiler with apt-get first")
	f.BoolVar(&o.limits, "limits", true, "also measure the raw limits of the system")
	f.Var(wires, "wire", "only over these: tcp (schedgen: TCP and multicast), shm")
	f.Var(ops, "op", "only these operations")
	f.Var(ranks, "p", "only these numbers of ranks")
	f.Var(sizes, "size", "only these sizes of a message, or of a block, in bytes (default for blocks 8,1024,65536,1048576, for folded vectors 8,2048,65536,1048576,16777216)")
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
		narrow(given, "p", ranks, "2", "4", "8")
		narrow(given, "size", sizes, "2", "65536", "524288")
		blocks, vectors = []string{"8", "65536"}, []string{"8", "65536"}
	}
	if given["size"] {
		blocks, vectors = sizes.values, sizes.values
	}
	o.finish(given["output"])
	o.cells = cells(wires.values, ops.values, ranks.numbers(), sizes.numbers(), (&list{values: blocks}).numbers(), (&list{values: vectors}).numbers())
	return o, o.check(f.Args())
}

// narrow sets the values of --quick for flags that are not given.
func narrow(given map[string]bool, name string, l *list, values ...string) {
	if !given[name] {
		l.values = values
	}
}

func (o *options) finish(outputGiven bool) {
	if o.name == "" {
		o.name = "full"
		if o.quick {
			o.name = "quick"
		}
	}
	if !outputGiven && (o.against != "" || o.measured != "") {
		o.output = "" // stored results stay
	}
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
