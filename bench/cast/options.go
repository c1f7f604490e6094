//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/schedgen/schedgen/bench/internal/tool"
	"github.com/schedgen/schedgen/bench/internal/units"
	"github.com/schedgen/schedgen/internal/netns"
)

// options are the values of the flags.
type options struct {
	sizes  []int
	hosts  []int
	rates  []int64
	losses []int
	faults []string
	tools  []string
	rounds int // 0: by size
	budget time.Duration
	nice   int
	keep   bool
	out    string
	name   string
}

const mib = 1 << 20

func parseOptions(args []string, stderr io.Writer) (*options, error) {
	o := &options{
		sizes: []int{64 * mib, 1024 * mib}, hosts: []int{5, 15, 40}, rates: []int64{100e6, 1e9, 0}, losses: []int{0, 10, 50},
		faults: faults, tools: toolNames(),
	}
	f := flag.NewFlagSet("cast", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Func("sizes", "`sizes` of the file (default 64MiB,1GiB)", tool.List(&o.sizes, units.ParseSize))
	f.Func("hosts", "`numbers` of hosts that receive, 2 to 249 (default 5,15,40)", tool.List(&o.hosts, tool.Number(2, netns.MaxHosts-1)))
	f.Func("rates", "`rates` of the links (default 100mbit,1gbit,"+units.Unlimited+")", tool.List(&o.rates, units.ParseRate))
	f.Func("loss", "`shares` of the frames to each host that are lost (default 0,1%,5%)", tool.List(&o.losses, units.ParseLoss))
	f.Func("faults", "faults of one host, measured without loss (`list`, default "+strings.Join(faults, ",")+")", tool.List(&o.faults, tool.OneOf(faults)))
	f.Func("tools", "`tools` (default "+strings.Join(toolNames(), ",")+")", tool.List(&o.tools, tool.OneOf(toolNames())))
	f.IntVar(&o.rounds, "rounds", 0, "measurements of each tool in each cell; 0: 3, and 1 above 64 MiB")
	f.DurationVar(&o.budget, "budget", 0, "longest `time` of a measurement; 0: six times the time of the wire, and half a minute")
	f.IntVar(&o.nice, "nice", 0, "nice value of the measured processes, -20 to 19")
	f.BoolVar(&o.keep, "keep-results", false, "continue: do not measure again what is in the results")
	f.StringVar(&o.out, "out", "bench/results", "`directory` for the results")
	f.StringVar(&o.name, "name", "cast", "name of the files in the directory")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	return o, o.check(f.Args())
}

func (o *options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q: only flags are taken", rest[0])
	case o.rounds < 0 || o.rounds > 1000:
		return fmt.Errorf("--rounds=%d: must be in 0..1000", o.rounds)
	case o.budget != 0 && o.budget < time.Second:
		return fmt.Errorf("--budget=%v: must be a second at least", o.budget)
	case o.nice < -20 || o.nice > 19:
		return fmt.Errorf("--nice=%d: must be in -20..19", o.nice)
	case o.name == "" || o.name != filepath.Base(o.name):
		return fmt.Errorf("--name=%s: must be a file's name", o.name)
	case len(o.trials()) == 0:
		return errors.New("nothing to measure: faults are measured without loss, and none is slow where links have no limit")
	}
	return nil
}

// file returns the name of a file of the results.
func (o *options) file(extension string) string { return filepath.Join(o.out, o.name+extension) }

// cells returns the chosen cells in the order in which they are measured: short ones come first.
func (o *options) cells() (all []cell) {
	for _, bytes := range o.sizes {
		for _, fault := range o.faults {
			for _, rate := range o.rates {
				for _, loss := range o.losses {
					for _, hosts := range o.hosts {
						if c := (cell{bytes, hosts, rate, loss, fault}); c.possible() {
							all = append(all, c)
						}
					}
				}
			}
		}
	}
	return all
}

// trials returns all measurements. Within a cell tools take turns, so that other load on the
// machine affects all of them.
func (o *options) trials() (all []trial) {
	for _, c := range o.cells() {
		for round := range o.roundsOf(c) {
			for _, name := range o.tools {
				all = append(all, trial{c, name, round + 1})
			}
		}
	}
	return all
}

func (o *options) roundsOf(c cell) int {
	switch {
	case o.rounds > 0:
		return o.rounds
	case c.Bytes > 64*mib:
		return 1
	}
	return 3
}
